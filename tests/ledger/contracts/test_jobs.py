"""unlock, lock, settle, payWorkers, release: each step once, never more than was set aside."""

import pytest

from tests.ledger.contracts.evm import ADA, BOB, CAY, HYD, JOB, NANO, Evm

OP = b"o" * 32


def test_unlock_turns_tokens_into_credits(evm: Evm) -> None:
    evm.reward(ADA, 5 * HYD)
    receipt = evm.do("spender", "unlock", ADA, 2 * HYD, OP)
    assert evm.holds(ADA) == (3 * HYD, 2 * HYD)
    assert evm.events(receipt) == [("Unlocked", {"account": ADA, "amount": 2 * HYD // NANO, "opId": OP})]
    assert evm.totals().credits == 2 * HYD


def test_unlock_happens_once_for_each_operation(evm: Evm) -> None:
    evm.reward(ADA, 5 * HYD)
    evm.do("spender", "unlock", ADA, HYD, OP)
    evm.refused("OperationAlreadyDone", "spender", "unlock", ADA, HYD, OP)


@pytest.mark.parametrize(
    "error, amount", [("InsufficientAvailable", 6 * HYD), ("ZeroAmount", 0), ("NotWholeNano", HYD + 1)]
)
def test_unlock_refuses(evm: Evm, error: str, amount: int) -> None:
    evm.reward(ADA, 5 * HYD)
    evm.refused(error, "spender", "unlock", ADA, amount, OP)


def test_lock_sets_credits_aside(evm: Evm) -> None:
    evm.give_credits(ADA, 5 * HYD)
    receipt = evm.do("spender", "lock", ADA, JOB, 4 * HYD)
    assert evm.holds(ADA) == (0, HYD)
    assert evm.ask("jobs", JOB) == (ADA, 4 * HYD, 0, 0, 0, 1)
    assert evm.events(receipt) == [("Locked", {"account": ADA, "job": JOB, "maximum": 4 * HYD // NANO})]
    assert evm.totals().locked == 4 * HYD


@pytest.mark.parametrize(
    "error, amount", [("InsufficientCredits", 6 * HYD), ("ZeroAmount", 0), ("NotWholeNano", 1)]
)
def test_lock_refuses(evm: Evm, error: str, amount: int) -> None:
    evm.give_credits(ADA, 5 * HYD)
    evm.refused(error, "spender", "lock", ADA, JOB, amount)


@pytest.mark.parametrize("end", [None, ("settle", JOB, 2 * HYD), ("release", JOB)])
def test_a_job_is_never_locked_twice(evm: Evm, end: tuple | None) -> None:
    evm.lock_job(ADA, 4 * HYD)
    if end:
        evm.do("spender", *end)
    evm.give_credits(ADA, 4 * HYD)
    evm.refused("JobAlreadyKnown", "spender", "lock", ADA, JOB, HYD)


def test_settle_claims_what_was_used_and_returns_the_rest(evm: Evm) -> None:
    evm.lock_job(ADA, 4 * HYD)
    receipt = evm.do("spender", "settle", JOB, 3 * HYD)
    assert evm.holds(ADA) == (0, HYD)
    nano = HYD // NANO
    assert evm.events(receipt) == [
        ("Settled", {"job": JOB, "account": ADA, "used": 3 * nano, "returned": nano})
    ]
    totals = evm.totals()
    assert (totals.locked, totals.spent, totals.used, totals.credits) == (0, 3 * HYD, 3 * HYD, HYD)


@pytest.mark.parametrize("used", [0, 4 * HYD])
def test_settle_takes_nothing_and_everything(evm: Evm, used: int) -> None:
    evm.lock_job(ADA, 4 * HYD)
    evm.do("spender", "settle", JOB, used)
    assert evm.holds(ADA) == (0, 4 * HYD - used)
    assert evm.totals().spent == used


@pytest.mark.parametrize("error, used", [("UsedExceedsMaximum", 4 * HYD + NANO), ("NotWholeNano", 1)])
def test_settle_refuses(evm: Evm, error: str, used: int) -> None:
    evm.lock_job(ADA, 4 * HYD)
    evm.refused(error, "spender", "settle", JOB, used)


@pytest.mark.parametrize("end", [("settle", JOB, 2 * HYD), ("release", JOB)])
@pytest.mark.parametrize("again", [("settle", JOB, 2 * HYD), ("release", JOB)])
def test_a_job_ends_once(evm: Evm, end: tuple, again: tuple) -> None:
    evm.lock_job(ADA, 4 * HYD)
    evm.do("spender", *end)
    evm.refused("JobNotLocked", "spender", *again)


@pytest.mark.parametrize("step", [("settle", JOB, 0), ("release", JOB)])
def test_an_unknown_job_cannot_end(evm: Evm, step: tuple) -> None:
    evm.refused("JobNotLocked", "spender", *step)


def test_release_returns_all(evm: Evm) -> None:
    evm.lock_job(ADA, 4 * HYD)
    receipt = evm.do("spender", "release", JOB)
    assert evm.holds(ADA) == (0, 4 * HYD)
    assert evm.events(receipt) == [("Released", {"job": JOB, "account": ADA, "amount": 4 * HYD // NANO})]
    assert evm.totals().locked == 0


def test_workers_are_paid_in_numbered_chunks(evm: Evm) -> None:
    evm.lock_job(ADA, 10 * HYD)
    evm.do("spender", "settle", JOB, 10 * HYD)
    evm.do("spender", "payWorkers", JOB, 0, [BOB, CAY], [4 * HYD, 3 * HYD])
    receipt = evm.do("spender", "payWorkers", JOB, 2, [BOB], [2 * HYD])
    nano = 2 * HYD // NANO
    assert evm.events(receipt) == [("WorkerPaid", {"job": JOB, "number": 2, "account": BOB, "amount": nano})]
    assert (evm.holds(BOB), evm.holds(CAY)) == ((6 * HYD, 0), (3 * HYD, 0))
    totals = evm.totals()
    assert (totals.paid, totals.spent, totals.available) == (9 * HYD, HYD, 9 * HYD)


@pytest.mark.parametrize("first", [0, 1, 3])
def test_a_chunk_is_paid_once_and_in_its_turn(evm: Evm, first: int) -> None:
    evm.lock_job(ADA, 10 * HYD)
    evm.do("spender", "settle", JOB, 10 * HYD)
    evm.do("spender", "payWorkers", JOB, 0, [BOB, CAY], [HYD, HYD])
    evm.refused("PayoutOutOfOrder", "spender", "payWorkers", JOB, first, [BOB, CAY], [HYD, HYD])


def test_chunks_together_stay_within_what_was_used(evm: Evm) -> None:
    evm.lock_job(ADA, 10 * HYD)
    evm.do("spender", "settle", JOB, 5 * HYD)
    evm.do("spender", "payWorkers", JOB, 0, [BOB], [3 * HYD])
    evm.refused("PayoutsExceedUsed", "spender", "payWorkers", JOB, 1, [BOB, CAY], [HYD, HYD + NANO])
    evm.do("spender", "payWorkers", JOB, 1, [BOB, CAY], [HYD, HYD])
    evm.refused("PayoutsExceedUsed", "spender", "payWorkers", JOB, 3, [BOB], [NANO])


@pytest.mark.parametrize(
    "error, accounts, amounts",
    [
        ("BadBatchSize", [], []),
        ("ListsDiffer", [BOB], []),
        ("ZeroAccount", [bytes(32)], [HYD]),
        ("ZeroAmount", [BOB], [0]),
    ],
)
def test_payouts_refuse_what_is_no_batch(
    evm: Evm, error: str, accounts: list[bytes], amounts: list[int]
) -> None:
    evm.lock_job(ADA, 10 * HYD)
    evm.do("spender", "settle", JOB, 5 * HYD)
    evm.refused(error, "spender", "payWorkers", JOB, 0, accounts, amounts)


@pytest.mark.parametrize("end", [None, ("release", JOB)])
def test_only_a_settled_job_pays(evm: Evm, end: tuple | None) -> None:
    evm.lock_job(ADA, 10 * HYD)
    if end:
        evm.do("spender", *end)
    evm.refused("JobNotSettled", "spender", "payWorkers", JOB, 0, [BOB], [HYD])


@pytest.mark.parametrize("who", ["admin", "recorder", "binder", "guardian", "wanda"])
def test_only_the_spender_spends(evm: Evm, who: str) -> None:
    evm.lock_job(ADA, 4 * HYD)
    for step in [
        ("unlock", ADA, HYD, OP),
        ("lock", ADA, b"k" * 32, HYD),
        ("settle", JOB, HYD),
        ("payWorkers", JOB, 0, [BOB], [HYD]),
        ("release", JOB),
    ]:
        evm.refused("AccessControlUnauthorizedAccount", who, *step)
