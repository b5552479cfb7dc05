"""The path of a reward and of a job's credits from request to final, over a chain in memory."""

import pytest

from ledger import service
from ledger.errors import EscrowClosed, InsufficientCredits, InsufficientTokens
from tests.ledger.world import ADA, BOB, CAY, HYD, JOB, reward, rich


def test_a_reward_is_reserved_then_settled_once(funded):
    assert reward().status == "reserved"
    assert service.balances(ADA).pending == 10 * HYD
    funded.send()
    assert funded.status("r1") == "sent"
    funded.index()
    assert funded.status("r1") == "sent"  # mined, not durable
    funded.settle()
    entry = service.rewards(["r1"])["r1"]
    assert (entry.status, entry.number, entry.block) == ("settled", 1, 1)
    balances = service.balances(ADA)
    assert (balances.pending, balances.available, balances.earned_total) == (0, 10 * HYD, 10 * HYD)
    assert funded.chain.totals().recorded == 10 * HYD


def test_tokens_that_are_not_final_cannot_be_unlocked(funded):
    reward()
    funded.send()
    funded.index()
    with pytest.raises(InsufficientTokens) as error:
        service.unlock_credits(ADA, HYD, key="u1")
    assert (error.value.available, error.value.asked) == (0, HYD)


def test_credits_are_spendable_only_after_finality(funded):
    reward()
    funded.settle()
    assert service.unlock_credits(ADA, 4 * HYD, key="u1").status == "pending"
    balances = service.balances(ADA)
    assert (balances.available, balances.unlocking, balances.credits) == (6 * HYD, 4 * HYD, 0)
    with pytest.raises(InsufficientCredits):
        service.lock_credits(ADA, JOB, HYD, key="l1")
    funded.settle()
    assert service.balances(ADA).credits == 4 * HYD
    assert service.lock_credits(ADA, JOB, 4 * HYD, key="l1").status == "pending"
    assert service.unlock_credits(ADA, 4 * HYD, key="u1").status == "settled"


def test_a_job_pays_volunteers_burns_its_share_and_returns_the_rest(world):
    rich(world)
    service.lock_credits(ADA, JOB, 60 * HYD, key="l")
    assert service.balances(ADA).locked == 60 * HYD
    world.settle()
    assert service.escrow(JOB).status == "locked"
    payouts = [(BOB, 20 * HYD), (CAY, 15 * HYD), (BOB, HYD)]
    assert service.settle_job(JOB, 40 * HYD, payouts, key="s").status == "settling"
    assert service.balances(BOB).pending == 21 * HYD
    world.settle()
    assert service.escrow(JOB) == service.Escrow(JOB, ADA, "settled", 60 * HYD, 40 * HYD)
    assert service.balances(BOB).available == 21 * HYD
    ada = service.balances(ADA)
    assert (ada.credits, ada.locked, ada.spent) == (60 * HYD, 0, 40 * HYD)
    books = service.totals().books
    assert books["burned"] == 4 * HYD
    assert world.chain.totals().spent == 4 * HYD
    with pytest.raises(EscrowClosed):
        service.settle_job(JOB, HYD, [], key="again")


def test_a_job_that_never_ran_gets_everything_back(world):
    rich(world)
    service.lock_credits(ADA, JOB, 60 * HYD, key="l")
    service.release_job(JOB, key="x")
    world.settle()
    assert service.escrow(JOB).status == "released"
    assert service.balances(ADA).credits == 100 * HYD
    assert service.release_job(JOB, key="x").status == "released"
