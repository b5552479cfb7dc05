"""The embedded chain: runs anvil as a child and checkpoints its whole state, so that a kill -9 loses seconds and never the file.

`python -m ledger.chain.devnode --dir var/chain --port 8546`. Files and generations are left to `checkpoints`. Standard
library only. SIGTERM: a last checkpoint, then exit. Anvil's own --state is not used: it writes over the live file.
"""

import argparse
import ctypes
import fcntl
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ledger.chain.checkpoints import Checkpoint, Checkpoints
from ledger.errors import NodeFailed

ROOT = Path(__file__).resolve().parents[2]
CHAIN_ID = 777001
PR_SET_PDEATHSIG = 1
START_S = 30.0  # anvil needs 0.5 s; a long chain is loaded from JSON, which takes longer
RPC_TIMEOUT_S = 30.0
STOP_S = 5.0
INTERVAL_S = 1.0
# A dump holds the whole chain and grows with it: spend at most about a tenth of the time on it.
DUMP_SHARE = 10
UNANSWERED = (OSError, http.client.HTTPException, ValueError)  # no connection, half an answer, no JSON
PLATFORMS = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64", "amd64": "amd64"}


@dataclass(frozen=True)
class NodeOptions:
    folder: Path
    port: int
    chain_id: int = CHAIN_ID
    interval_s: float = INTERVAL_S


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m ledger.chain.devnode", description="Runs the embedded chain."
    )
    parser.add_argument("--dir", required=True, type=Path, help="folder of the chain's state")
    parser.add_argument("--port", required=True, type=int, help="port on 127.0.0.1 for JSON-RPC")
    parser.add_argument("--chain-id", default=CHAIN_ID, type=int)
    parser.add_argument(
        "--interval", default=INTERVAL_S, type=float, help="seconds between checkpoints while blocks arrive"
    )
    given = parser.parse_args(argv)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        run(NodeOptions(given.dir.resolve(), given.port, given.chain_id, given.interval), stop)
    except NodeFailed as error:
        print(f"the embedded chain stopped: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


def run(options: NodeOptions, stop: threading.Event, say: Callable[[str], None] = print) -> None:
    """Runs the node until `stop` is set. Raises NodeFailed, and then leaves no child behind."""
    options.folder.mkdir(parents=True, exist_ok=True)
    with locked(options.folder):
        require_free(options.port)
        checkpoints = Checkpoints(options.folder)
        found = checkpoints.restore()
        for name in found.refused:
            say(f"{name} is damaged and was passed over for an older checkpoint")
        node = Node(options, start_anvil(options, found.state))
        try:
            node.wait_until_up()
            head = node.checkpoint(checkpoints)
            say(f"the embedded chain is up on 127.0.0.1:{options.port}, block {head.block}")
            node.keep(checkpoints, stop)
        finally:
            node.end()


class Node:
    """A running anvil and what is asked of it."""

    def __init__(self, options: NodeOptions, process: subprocess.Popen) -> None:
        self.options, self.process = options, process

    def wait_until_up(self) -> None:
        deadline = time.monotonic() + START_S
        while not self.answers():
            self.require_running()
            if time.monotonic() > deadline:
                raise NodeFailed(f"anvil did not answer on port {self.options.port} within {START_S:.0f} s")
            time.sleep(0.02)
        self.require_running()
        if (found := int(self.ask("eth_chainId"), 16)) != self.options.chain_id:
            raise NodeFailed(
                f"port {self.options.port} answers for chain {found}, not {self.options.chain_id}"
            )

    def keep(self, checkpoints: Checkpoints, stop: threading.Event) -> None:
        """Checkpoints whenever the head has moved, until `stop`; then once more."""
        pause = self.options.interval_s
        while not stop.wait(pause):
            started = time.monotonic()
            self.checkpoint(checkpoints)
            pause = max(self.options.interval_s, DUMP_SHARE * (time.monotonic() - started))
        self.checkpoint(checkpoints)

    def checkpoint(self, checkpoints: Checkpoints) -> Checkpoint:
        """Saves the state unless the last checkpoint has it already. The head is read first: the dump then holds at least that."""
        head = self.head()
        if head != checkpoints.newest:
            checkpoints.save(head, bytes.fromhex(self.ask("anvil_dumpState").removeprefix("0x")))
        return head

    def head(self) -> Checkpoint:
        block = self.ask("eth_getBlockByNumber", "latest", False)
        return Checkpoint(int(block["number"], 16), block["hash"])

    def ask(self, method: str, *parameters: object) -> Any:
        try:
            answer = post(self.options.port, method, list(parameters))
        except UNANSWERED as error:
            self.require_running()
            raise NodeFailed(f"anvil runs but does not answer {method}: {error}") from error
        if "error" in answer:
            raise NodeFailed(f"anvil refused {method}: {answer['error']}")
        return answer["result"]

    def answers(self) -> bool:
        try:
            return "result" in post(self.options.port, "eth_chainId", [])
        except UNANSWERED:
            return False

    def require_running(self) -> None:
        code = self.process.poll()
        if code is not None:
            raise NodeFailed(f"anvil ended with code {code}; its own words, if any, stand above")

    def end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start_anvil(options: NodeOptions, state: Path | None) -> subprocess.Popen:
    """Starts anvil on 127.0.0.1, without CORS, funded accounts or history on disk, bound to live no longer than this process."""
    argv = [
        str(find_anvil()), "--host", "127.0.0.1", "--port", str(options.port), "--chain-id", str(options.chain_id),
        "--accounts", "0", "--no-cors", "--quiet", "--hardfork", "osaka", "--enable-tx-gas-limit", "--gas-limit", "30000000",
        "--prune-history", "64", "--cache-path", str(options.folder / "cache"),
    ]  # fmt: skip
    if state is not None:
        argv += ["--load-state", str(state)]
    # A session of its own: Ctrl-C in a terminal must reach us alone, or the node is gone before its last checkpoint.
    return subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=die_with_parent(os.getpid())
    )


def die_with_parent(parent: int) -> Callable[[], None]:
    """For the child, before exec: the kernel kills it when its parent dies, however the parent dies (Linux only)."""
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def bind() -> None:
        if libc is not None:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:  # it died between fork and prctl
                os._exit(1)

    return bind


def find_anvil() -> Path:
    """The binary that npm installed, or the one that HYDRA_ANVIL names. Raises NodeFailed."""
    if given := os.environ.get("HYDRA_ANVIL"):
        return Path(given)
    machine = PLATFORMS.get(os.uname().machine, os.uname().machine)
    path = ROOT / "node_modules" / "@foundry-rs" / f"anvil-{sys.platform}-{machine}" / "bin" / "anvil"
    if not path.exists():
        raise NodeFailed(
            f"anvil is not at {path}: run `npm ci --ignore-scripts`, or set HYDRA_ANVIL to its path"
        )
    return path


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One node for each folder: two would write over each other's checkpoints."""
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise NodeFailed(f"another embedded chain already runs in {folder}") from None
        yield


def require_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # as anvil: what is left of closed connections is no obstacle
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise NodeFailed(
                f"port {port} cannot be used ({error.strerror}): stop what holds it, or choose another --port"
            ) from error


def post(port: int, method: str, parameters: list[object]) -> dict[str, Any]:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=RPC_TIMEOUT_S) as answer:
        return json.load(answer)


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        raise SystemExit(main())
