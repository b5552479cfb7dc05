"""Whatever is done in whatever order: recorded = available + credits + locked + spent + supply, and the accounts add up to it."""

import random

import pytest
from eth_tester.exceptions import TransactionFailed

from tests.ledger.contracts.evm import ADA, BOB, CAY, GAS, HYD, NANO, ROOT, Evm

ACCOUNTS = (ADA, BOB, CAY)
JOBS = tuple(bytes([i]) * 32 for i in range(1, 8))
STEPS = 50
EVERY = {"recordRewards", "unlock", "lock", "settle", "payWorkers", "release", "withdraw", "deposit"}


def random_step(evm: Evm, chance: random.Random) -> tuple:
    """A step that may or may not be allowed; amounts are small so that limits are met often."""
    account, job, amount = chance.choice(ACCOUNTS), chance.choice(JOBS), chance.randrange(1, 9) * HYD // 2
    count = chance.randrange(1, 4)
    several = (
        [chance.choice(ACCOUNTS) for _ in range(count)],
        [chance.randrange(1, 4) * NANO for _ in range(count)],
    )
    return chance.choice(
        [
            ("recorder", "recordRewards", chance.randrange(60), [account], [amount], ROOT),
            ("recorder", "recordRewards", chance.randrange(60), *several, ROOT),
            ("spender", "unlock", account, amount, chance.randbytes(32)),
            ("spender", "lock", account, job, amount),
            ("spender", "settle", job, amount // 2),
            ("spender", "payWorkers", job, 0, *several),
            ("spender", "payWorkers", job, count, *several),
            ("spender", "release", job),
            ("wanda", "withdraw", ADA, amount),
            ("wanda", "deposit", account, amount // 5),
        ]
    )


@pytest.mark.parametrize("seed", [6, 21])  # two walks on which every kind of step is taken at least once
def test_the_sums_balance_after_every_step(evm: Evm, seed: int) -> None:
    chance = random.Random(seed)
    for i, account in enumerate(ACCOUNTS):
        evm.reward(account, 20 * HYD, number=1000 + i)
        evm.do("spender", "unlock", account, 10 * HYD, account)
    evm.bind(ADA, "wanda")
    done = {name for name in (act(evm, *random_step(evm, chance)) for _ in range(STEPS)) if name}
    assert done == EVERY


def act(evm: Evm, who: str, name: str, *arguments: object) -> str | None:
    """Takes a step, compares the sums, and returns the step's name when the contract allowed it."""
    is_done = try_step(evm, who, name, *arguments)
    totals = evm.totals()  # asserts the balance
    assert (totals.available, totals.credits) == tuple(map(sum, zip(*map(evm.holds, ACCOUNTS), strict=True)))
    return name if is_done else None


def try_step(evm: Evm, who: str, name: str, *arguments: object) -> bool:
    try:
        evm.function(name, *arguments).call({"from": evm.at[who]})
    except TransactionFailed:
        return False
    evm.function(name, *arguments).transact({"from": evm.at[who], "gas": GAS})
    return True
