"""The JSON-RPC client where a connection fails: between it and a real node stands a proxy that breaks what it is told to break."""

import json
import socket
import urllib.request
from collections import deque
from collections.abc import Iterator
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ledger.chain.port import AccountState, RecordRewards, SignedTx
from ledger.chain.web3_chain import Web3Chain
from ledger.errors import (
    ChainUnavailable,
    KeyMissing,
    NonceTooLow,
    ReplacementUnderpriced,
    TxRejected,
    WrongChain,
)
from tests.ledger.chain.node import AnvilNode, Served

pytestmark = pytest.mark.anvil
ADA, ROOT = b"a" * 32, b"r" * 32


class Proxy(ThreadingHTTPServer):
    """Passes requests on to `target`; each broadcast first takes one entry of `plan`.

    pass, drop-before, drop-after, an HTTP status, or a JSON-RPC error as "code message".
    """

    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), ProxyHandler)
        self.target, self.plan = target, deque[str]()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class ProxyHandler(BaseHTTPRequestHandler):
    server: Proxy

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        is_broadcast = json.loads(body)["method"] == "eth_sendRawTransaction"
        fault = self.server.plan.popleft() if is_broadcast and self.server.plan else "pass"
        if fault == "drop-before":
            return self.drop()
        if fault.isdigit():
            return self.send_error(int(fault))
        if fault.startswith("-"):
            code, message = fault.split(" ", 1)
            error = {"code": int(code), "message": message}
            return self.answer(
                json.dumps({"jsonrpc": "2.0", "id": json.loads(body)["id"], "error": error}).encode()
            )
        request = urllib.request.Request(self.server.target, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=5) as answer:
            content = answer.read()
        if fault == "drop-after":
            return self.drop()
        return self.answer(content)

    def answer(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def drop(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: object) -> None:
        """Says nothing: the test knows what it asked for."""


@pytest.fixture
def proxy(anvil: AnvilNode) -> Iterator[Proxy]:
    with Served(Proxy(anvil.settings.rpc_url)) as server:
        yield server


def reward(chain: Web3Chain) -> SignedTx:
    call = RecordRewards(0, (ADA,), (10,), ROOT)
    return chain.sign(call, role="recorder", nonce=chain.mined_nonce("recorder"), fee=chain.suggest_fee())


def mine(anvil: AnvilNode) -> None:
    anvil.ask("anvil_mine", "0x1")


def test_a_connection_that_breaks_after_the_node_took_it_pays_once(anvil: AnvilNode, proxy: Proxy) -> None:
    chain = anvil.open(rpc_url=proxy.url)
    tx = reward(chain)
    proxy.plan.append("drop-after")
    with pytest.raises(ChainUnavailable):
        chain.broadcast(tx.raw)
    mine(anvil)
    receipt = chain.find_receipt(tx.hash)
    assert receipt is not None
    assert receipt.status
    chain.broadcast(tx.raw)
    mine(anvil)
    assert chain.account(ADA) == AccountState(10, 0)
    assert chain.mined_nonce("recorder") == 1


@pytest.mark.parametrize(
    "fault", ["drop-before", "429", "503", "-32005 limit exceeded", "-32000 txpool is full"]
)
def test_a_broadcast_that_never_arrived_can_be_sent_again(anvil: AnvilNode, proxy: Proxy, fault: str) -> None:
    chain = anvil.open(rpc_url=proxy.url)
    tx = reward(chain)
    proxy.plan.append(fault)
    with pytest.raises(ChainUnavailable):
        chain.broadcast(tx.raw)
    mine(anvil)
    assert chain.find_receipt(tx.hash) is None
    chain.broadcast(tx.raw)
    mine(anvil)
    assert chain.account(ADA) == AccountState(10, 0)


@pytest.mark.parametrize(
    "refusal, error",
    [
        ("-32000 already known", None),
        ("-32000 AlreadyKnown", None),
        ("-32000 nonce too low: next nonce 1, tx nonce 0", NonceTooLow),
        ("-32000 replacement transaction underpriced", ReplacementUnderpriced),
        ("-32000 insufficient funds for gas * price + value", TxRejected),
        ("-32000 exceeds block gas limit", TxRejected),
    ],
)
def test_other_nodes_words_are_understood(
    anvil: AnvilNode, proxy: Proxy, refusal: str, error: type[Exception] | None
) -> None:
    chain = anvil.open(rpc_url=proxy.url)
    tx = reward(chain)
    proxy.plan.append(refusal)
    with pytest.raises(error) if error else nullcontext():
        chain.broadcast(tx.raw)
    assert not proxy.plan


def test_a_node_that_stays_silent_is_given_up(anvil: AnvilNode) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        chain = anvil.open(rpc_url=f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.05)
        with pytest.raises(ChainUnavailable, match="head"):
            chain.head()


def test_a_process_without_keys_reads_but_does_not_sign(anvil: AnvilNode) -> None:
    chain = anvil.open(keys_dir=None)
    assert chain.mined_nonce("recorder") == 0
    assert chain.totals().is_balanced
    with pytest.raises(KeyMissing):
        chain.sign(RecordRewards(0, (ADA,), (1,), ROOT), role="recorder", nonce=0, fee=chain.suggest_fee())


def test_a_key_that_does_not_hold_its_role_is_found_out_before_sending(anvil: AnvilNode) -> None:
    chain = anvil.open()
    roles = chain.deployment.roles
    roles["recorder"], roles["spender"] = roles["spender"], roles["recorder"]
    with pytest.raises(KeyMissing, match="deployed with"):
        reward(chain)


def test_another_chain_is_noticed_at_the_first_question(anvil: AnvilNode, tmp_path: Path) -> None:
    chain = anvil.open()
    anvil.ask("anvil_setChainId", 5)
    try:
        with pytest.raises(WrongChain, match="chain 5"):
            chain.head()
    finally:
        anvil.ask("anvil_setChainId", chain.chain_id)
    assert chain.head().number > 0


def test_a_contract_that_is_gone_is_told(anvil: AnvilNode) -> None:
    chain = anvil.open()
    anvil.ask("anvil_setCode", chain.contract, "0x")
    with pytest.raises(WrongChain, match="HydraLedger at"):
        chain.totals()


def test_an_embedded_chain_is_durable_up_to_its_note(anvil: AnvilNode, tmp_path: Path) -> None:
    note = tmp_path / "checkpoint.json"
    chain = anvil.open(durable_file=note)
    assert chain.durable_height() == 0
    note.write_text(json.dumps({"block": 1, "hash": chain.block_hash(1)}))
    mine(anvil)
    assert (chain.durable_height(), chain.head().number) == (1, 2)


@pytest.mark.parametrize("content", ["", "{", '{"block": 1}', '{"block": 1, "hash": "0x00"}', "[]"])
def test_a_note_that_is_damaged_or_of_another_chain_makes_nothing_durable(
    anvil: AnvilNode, tmp_path: Path, content: str
) -> None:
    note = tmp_path / "checkpoint.json"
    note.write_text(content)
    assert anvil.open(durable_file=note).durable_height() == 0
