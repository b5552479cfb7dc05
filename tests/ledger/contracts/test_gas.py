"""The fixed gas limits cover what each call really uses, at its dearest, with room to spare."""

import pytest

from ledger.chain.calls import TX_GAS_CAP, gas_limit
from ledger.chain.port import Lock, PayWorkers, RecordRewards, Release, Settle, Unlock
from tests.ledger.contracts.evm import ADA, HYD, JOB, ROOT, Evm

OP = b"o" * 32
ROOM = 1.2


def new_accounts(count: int) -> tuple[bytes, ...]:
    return tuple(i.to_bytes(32, "big") for i in range(2**200, 2**200 + count))


@pytest.mark.parametrize("count", [1, 10, 300])
def test_a_batch_to_new_accounts_fits(evm: Evm, count: int) -> None:
    accounts, amounts = new_accounts(count), (HYD,) * count
    used = evm.do("recorder", "recordRewards", 0, accounts, amounts, ROOT)["gasUsed"]
    assert used * ROOM < gas_limit(RecordRewards(0, accounts, amounts, ROOT)) <= TX_GAS_CAP


@pytest.mark.parametrize("count", [1, 300])
def test_payouts_to_new_accounts_fit(evm: Evm, count: int) -> None:
    accounts, amounts = new_accounts(count), (HYD // 1000,) * count
    evm.lock_job(ADA, HYD)
    evm.do("spender", "settle", JOB, HYD)
    used = evm.do("spender", "payWorkers", JOB, 0, accounts, amounts)["gasUsed"]
    assert used * ROOM < gas_limit(PayWorkers(JOB, 0, accounts, amounts)) <= TX_GAS_CAP


def test_single_steps_fit(evm: Evm) -> None:
    evm.reward(ADA, 5 * HYD)
    used = {
        Unlock: evm.do("spender", "unlock", ADA, 4 * HYD, OP)["gasUsed"],
        Lock: evm.do("spender", "lock", ADA, JOB, 2 * HYD)["gasUsed"],
    }
    evm.do("spender", "lock", ADA, b"k" * 32, 2 * HYD)
    used[Settle] = evm.do("spender", "settle", JOB, HYD)["gasUsed"]
    used[Release] = evm.do("spender", "release", b"k" * 32)["gasUsed"]
    calls = {
        Unlock: Unlock(ADA, 1, OP),
        Lock: Lock(ADA, JOB, 1),
        Settle: Settle(JOB, 1),
        Release: Release(JOB),
    }
    assert all(gas * ROOM < gas_limit(calls[kind]) for kind, gas in used.items()), used
