"""Books, outbox and chain under any order of requests, faults, kills, rewinds and readings: money is never made or lost."""

import contextlib
import os

from django.db import transaction
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ledger import service
from ledger.chain.fake import Fault
from ledger.errors import ChainUnavailable, EscrowClosed, InsufficientCredits, InsufficientTokens, TxRejected
from ledger.models import OutboxItem
from ledger.reconcile import BOOK_CHECKS, check_alarms, check_shortfalls, reconcile
from tests.ledger.world import ADA, BOB, CAMPAIGN, HYD, World, reward

USERS = st.sampled_from([ADA, BOB])
AMOUNTS = st.integers(1, 20).map(lambda n: n * HYD)
BUDGET = 10**6 * HYD
EXAMPLES = int(
    os.environ.get("HYDRA_MODEL_EXAMPLES", "0")
)  # more than the default's few, and other ones each time


class Ledger(RuleBasedStateMachine):
    """The model is small on purpose: what users were promised, and which jobs are open."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = contextlib.ExitStack()
        self.stack.enter_context(transaction.atomic())
        self.stack.callback(transaction.set_rollback, True)
        self.world = World()
        self.count = 0
        self.jobs: dict[str, int] = {}
        service.fund_campaign(CAMPAIGN, BUDGET, key="fund")

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    @rule(user=USERS, amount=AMOUNTS)
    def reserve(self, user, amount):
        reward(self.name("r"), user, amount)

    @precondition(lambda self: self.count)
    @rule(data=st.data())
    def cancel_a_reward(self, data):
        keys = sorted(OutboxItem.objects.filter(kind="reward").values_list("key", flat=True))
        if keys:
            service.cancel_reward(data.draw(st.sampled_from(keys)), reason="model")

    @rule(user=USERS)
    def unlock_what_is_available(self, user):
        available = service.balances(user).available
        if available:
            service.unlock_credits(user, available, key=self.name("u"))
        with contextlib.suppress(InsufficientTokens):
            service.unlock_credits(user, 10**9 * HYD, key=self.name("u"))
            raise AssertionError("unlocked what nobody has")

    @rule(user=USERS, amount=AMOUNTS)
    def lock(self, user, amount):
        job = self.name("job:")
        with contextlib.suppress(InsufficientCredits):
            service.lock_credits(user, job, amount, key=job)
            self.jobs[job] = amount

    @precondition(lambda self: self.jobs)
    @rule(data=st.data(), share=st.integers(0, 10))
    def close_a_job(self, data, share):
        job = data.draw(st.sampled_from(sorted(self.jobs)))
        maximum = self.jobs.pop(job)
        with contextlib.suppress(EscrowClosed):  # its lock was refused
            if share == 10:
                service.release_job(job, key=job)
            else:
                used = maximum * share // 10
                service.settle_job(job, used, [(BOB, used * 6 // 10), (ADA, used * 3 // 10)], key=job)

    @rule(fault=st.sampled_from([None, None, *Fault]))
    def send(self, fault):
        if fault:
            self.world.chain.faults.append(fault)
        with contextlib.suppress(ChainUnavailable, TxRejected):
            self.world.send()

    @rule()
    def checkpoint(self):
        self.world.chain.checkpoint()

    @rule()
    def index(self):
        self.world.index()

    @rule()
    def crash(self):
        self.world.chain.crash()

    @precondition(lambda self: self.world.chain.durable > 1)
    @rule(depth=st.integers(1, 5))
    def lose_a_checkpoint(self, depth):
        self.world.chain.durable = max(0, self.world.chain.durable - depth)
        self.world.chain.crash()

    @invariant()
    def the_books_agree_with_themselves_and_the_outbox(self):
        checks = [check for check in BOOK_CHECKS if check not in {check_alarms, check_shortfalls}]
        assert [finding for check in checks for finding in check()] == []

    def teardown(self) -> None:
        try:
            self.everything_settles()
        finally:
            self.stack.close()

    def everything_settles(self) -> None:
        self.world.chain.faults.clear()
        self.world.settle(rounds=6)
        assert not OutboxItem.objects.filter(status__in=["queued", "sealed", "sent", "reverted"]).exists()
        assert reconcile(self.world.chain, self.world.indexer.name) == []
        books = service.totals().books
        assert books["shortfall"] == 0
        assert (
            -books["issuance"]
            == BUDGET
            == sum(amount for kind, amount in books.items() if kind not in {"issuance", "shortfall"})
        )


def test_any_order_of_events_settles_exactly_once(db):
    run_state_machine_as_test(
        Ledger,
        settings=settings(
            max_examples=EXAMPLES or 8,
            stateful_step_count=60,
            deadline=None,
            derandomize=not EXAMPLES,
            phases=[Phase.generate],  # a failure is shown as found: shrinking it takes minutes
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
