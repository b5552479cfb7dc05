"""A real anvil for tests with HydraLedger on it, and the handful of ways in which a test moves it."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ledger.chain import devnode
from ledger.chain.deploy import Limits, deploy
from ledger.chain.devnode import NodeOptions, start_anvil
from ledger.chain.web3_chain import ChainSettings, Web3Chain

CHAIN_ID = 777001


class AnvilNode:
    """A node, a chain client that holds the keys, and `settings` to open more clients with."""

    def __init__(self, port: int, folder: Path) -> None:
        self.port = port
        self.settings = ChainSettings(
            f"http://127.0.0.1:{port}",
            CHAIN_ID,
            folder,
            keys_dir=folder / "keys",
            durable_file=folder / "checkpoint.json",
        )

    def deploy(self, limits: Limits) -> None:
        deploy(self.settings, limits)

    def open(self, **changes: Any) -> Web3Chain:
        return Web3Chain.open(ChainSettings(**{**vars(self.settings), **changes}))

    def ask(self, method: str, *parameters: object) -> Any:
        answer = devnode.post(self.port, method, list(parameters))
        assert "error" not in answer, answer
        return answer["result"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running_anvil(folder: Path, limits: Limits) -> Iterator[AnvilNode]:
    options = NodeOptions(folder, free_port(), CHAIN_ID)
    node = devnode.Node(options, start_anvil(options, None))
    try:
        node.wait_until_up()
        anvil = AnvilNode(options.port, folder)
        anvil.deploy(limits)
        yield anvil
    finally:
        node.end()


class Served:
    """A thread around a blocking server: started on entry, closed on exit."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    def __enter__(self) -> Any:
        self.thread.start()
        return self.server

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
