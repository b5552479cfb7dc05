"""The embedded node as its own process: what a SIGTERM saves, what a kill -9 costs, what is left behind."""

import json
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ledger.chain import devnode
from ledger.errors import NodeFailed
from tests.ledger.chain.node import AnvilNode, free_port

ROOT = Path(__file__).resolve().parents[3]
NEVER_S = "3600"  # no checkpoint but the first and the last


class Devnode:
    """One `python -m ledger.chain.devnode`; `first_line` is what it said when it was up."""

    def __init__(self, folder: Path, interval_s: str = NEVER_S) -> None:
        self.folder, self.port = folder, free_port()
        argv = [sys.executable, "-m", "ledger.chain.devnode", "--dir", str(folder), "--port", str(self.port)]
        self.process = subprocess.Popen(
            [*argv, "--interval", interval_s],
            cwd=ROOT, env={"PYTHONUNBUFFERED": "1"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.lines: list[str] = []

    def wait_up(self) -> str:
        """Reads until the node says that it is up; returns all that it said."""
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line)
            if "is up" in line:
                return "".join(self.lines)
        raise AssertionError(f"devnode ended: {self.lines}")

    def ask(self, method: str, *parameters: object) -> Any:
        return devnode.post(self.port, method, list(parameters))["result"]

    def head(self) -> tuple[int, str]:
        block = self.ask("eth_getBlockByNumber", "latest", False)
        return int(block["number"], 16), block["hash"]

    def note(self) -> tuple[int, str]:
        stored = json.loads((self.folder / "checkpoint.json").read_text())
        return stored["block"], stored["hash"]

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        code = self.process.wait(10)
        assert self.process.stdout
        self.process.stdout.close()
        return code


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Devnode]]:
    nodes: list[Devnode] = []

    def begin(**options: str) -> Devnode:
        nodes.append(Devnode(tmp_path / "chain", **options))
        nodes[-1].wait_up()
        return nodes[-1]

    yield begin
    for node in nodes:
        if node.process.poll() is None:
            node.end(signal.SIGKILL)


@pytest.mark.anvil
@pytest.mark.processes
def test_sigterm_saves_all_and_kill_9_costs_what_came_after(start: Callable[..., Devnode]) -> None:
    node = start()
    node.ask("anvil_mine", "0x3")
    saved = node.head()
    assert saved[0] == 3
    assert node.end(signal.SIGTERM) == 0
    assert node.note() == saved

    node = start()
    assert node.head() == node.note() == saved
    node.ask("anvil_mine", "0x2")
    assert node.end(signal.SIGKILL) == -signal.SIGKILL
    assert becomes_free(node.port), "an orphan still holds the port"

    node = start()
    assert node.head() == node.note() == saved


@pytest.mark.anvil
@pytest.mark.processes
def test_a_moving_head_is_checkpointed_while_it_runs(start: Callable[..., Devnode]) -> None:
    node = start(interval_s="0.02")
    node.ask("anvil_mine", "0x5")
    head = node.head()
    while node.note() != head:  # ends: the node checkpoints every 20 ms, and dies with the fixture
        assert node.process.poll() is None
    node.end(signal.SIGKILL)
    assert start().head() == head


@pytest.mark.anvil
@pytest.mark.processes
def test_a_torn_generation_falls_back_to_the_one_before(start: Callable[..., Devnode]) -> None:
    node = start()
    first = node.head()
    node.ask("anvil_mine", "0x4")
    node.end(signal.SIGTERM)
    newest = sorted((node.folder).glob("state-*"))[-1]
    newest.write_bytes(newest.read_bytes()[:-50])
    node = start()
    assert node.head() == node.note() == first
    assert any("damaged" in line and newest.name in line for line in node.lines)


@pytest.mark.anvil
def test_a_page_of_another_site_cannot_command_the_node(anvil: AnvilNode) -> None:
    """What a browser sends across sites without asking is refused, and asking first (CORS) is not answered."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "anvil_mine", "params": ["0x1"]}).encode()
    simple = urllib.request.Request(
        anvil.settings.rpc_url, body, {"Content-Type": "text/plain", "Origin": "http://x"}
    )
    before = anvil.ask("eth_blockNumber")
    with urllib.request.urlopen(simple, timeout=5) as answer:
        assert "error" in json.load(answer)
        assert "Access-Control-Allow-Origin" not in answer.headers
    assert anvil.ask("eth_blockNumber") == before
    preflight = urllib.request.Request(
        anvil.settings.rpc_url, headers={"Origin": "http://x"}, method="OPTIONS"
    )
    with pytest.raises(urllib.error.HTTPError), urllib.request.urlopen(preflight, timeout=5):
        pass


def becomes_free(port: int, limit_s: float = 10.0) -> bool:
    """The kernel ends the child some moments after its parent."""
    deadline = time.monotonic() + limit_s
    while is_listening(port):
        if time.monotonic() > deadline:
            return False
        threading.Event().wait(0.02)
    return True


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_port_in_use_is_told_with_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held, pytest.raises(NodeFailed) as refusal:
        devnode.require_free(held.getsockname()[1])
    assert "--port" in str(refusal.value)
    devnode.require_free(free_port())


def test_one_folder_has_one_node(tmp_path: Path) -> None:
    with devnode.locked(tmp_path), pytest.raises(NodeFailed, match="already runs"), devnode.locked(tmp_path):
        pass
    with devnode.locked(tmp_path):
        assert (tmp_path / "lock").exists()


def test_a_missing_binary_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(devnode, "ROOT", tmp_path)
    monkeypatch.delenv("HYDRA_ANVIL", raising=False)
    with pytest.raises(NodeFailed, match="npm ci"):
        devnode.find_anvil()
    monkeypatch.setenv("HYDRA_ANVIL", "/opt/anvil")
    assert devnode.find_anvil() == Path("/opt/anvil")
