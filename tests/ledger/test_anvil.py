"""The whole path over a real node: 300 rewards, kill -9 of the embedded chain in their middle, each settles exactly once."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.utils import timezone

from ledger import service
from ledger.chain.deploy import Limits, deploy, wait_until_durable
from ledger.chain.web3_chain import ChainSettings, Web3Chain
from ledger.errors import ChainError, ChainUnavailable
from ledger.indexer import Indexer
from ledger.models import Batch, ChainTx
from ledger.reconcile import reconcile
from ledger.sender import Pace, Sender
from tests.ledger.chain.node import CHAIN_ID, free_port
from tests.ledger.world import ADA, BOB, CAMPAIGN, HYD, JOB, reward

pytestmark = [pytest.mark.anvil, pytest.mark.processes, pytest.mark.django_db]
PATIENCE_S = 60


class Embedded:
    """The embedded chain as a process of its own, and our two programs around it."""

    def __init__(self, folder: Path) -> None:
        self.port, self.folder = free_port(), folder
        self.settings = ChainSettings(
            f"http://127.0.0.1:{self.port}",
            CHAIN_ID,
            folder,
            keys_dir=folder / "keys",
            durable_file=folder / "checkpoint.json",
        )
        self.process = self.start()

    def start(self) -> subprocess.Popen:
        argv = [sys.executable, "-m", "ledger.chain.devnode", "--dir", self.folder, "--port", str(self.port)]
        return subprocess.Popen([*argv, "--interval", "0.2"], stdout=subprocess.DEVNULL)

    def connect(self) -> None:
        self.deploy()
        self.chain = Web3Chain.open(self.settings)
        self.sender = Sender(self.chain, "test", Pace(max_age_s=0, resend_s=0.5))
        self.indexer = Indexer(self.chain)

    def deploy(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                done = deploy(self.settings, Limits(window_cap=10**9 * HYD, window_s=86_400))
                return wait_until_durable(self.settings, done)
            except ChainUnavailable:
                assert time.monotonic() < deadline
                time.sleep(0.05)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process = self.start()

    def step(self) -> None:
        """One round of both loops; a node that is away is met as the loops meet it: again, later."""
        for program in (self.sender, self.indexer):
            try:
                program.step(timezone.now())
            except ChainError:
                time.sleep(0.05)

    def run_until(self, is_done) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not is_done():
            assert time.monotonic() < deadline, f"still waiting: {list(Batch.objects.values())}"
            self.step()
            time.sleep(0.02)


@contextmanager
def embedded(folder: Path) -> Iterator[Embedded]:
    node = Embedded(folder)
    try:
        node.connect()
        yield node
    finally:
        node.process.terminate()
        node.process.wait()


def is_settled(keys: list[str]) -> bool:
    return all(entry.status == "settled" for entry in service.rewards(keys).values())


def test_three_hundred_rewards_survive_a_killed_node(tmp_path):
    keys = [f"r{i}" for i in range(300)]
    service.fund_campaign(CAMPAIGN, 10**6 * HYD, key="fund")
    with embedded(tmp_path) as node:
        for i, key in enumerate(keys):
            reward(key, f"user:{i % 7}", HYD)
            if i % 30 == 29:
                node.step()
            if i in {100, 200}:
                killed = node.process
                node.kill()
                assert killed.returncode == -signal.SIGKILL
        node.run_until(lambda: is_settled(keys))
        assert node.chain.totals().recorded == 300 * HYD
        assert sorted(entry.number for entry in service.rewards(keys).values()) == list(range(1, 301))
        assert ChainTx.objects.count() == Batch.objects.count()
        node.run_until(lambda: service.network_status().indexed == node.chain.head().number)
        assert reconcile(node.chain, node.indexer.name) == []
    assert len(service.settlements_since(0)[0]) >= 300


def test_tokens_become_credits_and_a_job_pays_its_volunteers(tmp_path):
    service.fund_campaign(CAMPAIGN, 10**6 * HYD, key="fund")
    with embedded(tmp_path) as node:
        reward("r", ADA, 50 * HYD)
        node.run_until(lambda: is_settled(["r"]))
        service.unlock_credits(ADA, 50 * HYD, key="u")
        node.run_until(lambda: service.balances(ADA).credits == 50 * HYD)
        service.lock_credits(ADA, JOB, 30 * HYD, key="l")
        node.run_until(lambda: service.escrow(JOB).status == "locked")
        service.settle_job(JOB, 20 * HYD, [(BOB, 18 * HYD)], key="s")
        node.kill()
        node.run_until(lambda: service.escrow(JOB).status == "settled")
        assert (service.balances(ADA).credits, service.balances(BOB).available) == (30 * HYD, 18 * HYD)
        totals = node.chain.totals()
        assert (totals.recorded, totals.used, totals.paid, totals.burned) == (
            50 * HYD,
            20 * HYD,
            18 * HYD,
            2 * HYD,
        )
        node.run_until(lambda: service.network_status().indexed == node.chain.head().number)
        assert reconcile(node.chain, node.indexer.name) == []
