"""Many rewards at once mean the same as one after the other: same rows, same refusals, all or none."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ledger import service
from ledger.errors import BadInput, BudgetExhausted, KeyReused
from ledger.models import Account, Entry, OutboxItem
from ledger.service import RewardRequest, reserve_reward, reserve_rewards
from tests.ledger.world import ADA, BOB, CAMPAIGN, HYD, OTHER, World


def wish(number: int, user: str = ADA, amount: int = HYD, campaign: str = CAMPAIGN) -> RewardRequest:
    return RewardRequest(f"r{number}", campaign, user, f"item:{number}", amount, bytes([number]) * 32, "1")


def test_they_are_reserved_as_one_by_one(funded: World):
    together = reserve_rewards([wish(number, (ADA, BOB)[number % 2]) for number in range(6)])
    alone = reserve_reward(wish(6))
    assert [entry.key for entry in together] == [f"r{number}" for number in range(6)]
    assert {(entry.status, entry.amount, entry.paid) for entry in [*together, alone]} == {
        ("reserved", HYD, HYD)
    }
    assert service.campaign_budget(CAMPAIGN).reserved == 7 * HYD
    assert (service.balances(ADA).pending, service.balances(BOB).pending) == (4 * HYD, 3 * HYD)
    rows = (
        OutboxItem.objects.filter(kind="reward").order_by("pk").values("detail", "status", "policy_version")
    )
    assert all(row == rows[6] for row in rows)
    for entry in Entry.objects.filter(item__kind="reward"):
        assert sum(entry.postings.values_list("amount", flat=True)) == 0 and entry.postings.count() == 2
    funded.settle()
    assert service.balances(ADA).available == 4 * HYD


def test_the_same_again_is_the_same(funded: World):
    first = reserve_rewards([wish(1), wish(2)])
    assert reserve_rewards([wish(2), wish(1)]) == first[::-1]
    assert reserve_rewards([wish(1), wish(3)])[0] == first[0]
    assert service.campaign_budget(CAMPAIGN).reserved == 3 * HYD
    assert reserve_rewards([]) == []


def test_a_reused_key_reserves_none(funded: World):
    reserve_rewards([wish(1)])
    with pytest.raises(KeyReused):
        reserve_rewards([wish(2), wish(1, amount=2 * HYD)])
    assert OutboxItem.objects.count() == 1


def test_one_too_many_for_the_budget_reserves_none(funded: World):
    service.fund_campaign(OTHER, HYD, key="other")
    with pytest.raises(BudgetExhausted) as refused:
        reserve_rewards([wish(1), wish(2, campaign=OTHER), wish(3, campaign=OTHER)])
    assert (refused.value.asked, refused.value.remaining) == (2 * HYD, HYD)
    assert not OutboxItem.objects.exists()
    assert len(reserve_rewards([wish(1), wish(2, campaign=OTHER)])) == 2


@pytest.mark.parametrize("wrong", [wish(1, amount=0), wish(1, amount=-HYD)])
def test_no_amount_reserves_none(funded: World, wrong):
    with pytest.raises(BadInput):
        reserve_rewards([wish(2), wrong])
    assert not OutboxItem.objects.exists()


def test_what_is_owed_is_held_back(funded: World):
    reserve_reward(wish(1))
    funded.settle()
    service.cancel_reward("r1", reason="fraud")
    paid = [entry.paid for entry in reserve_rewards([wish(2, amount=HYD // 2), wish(3)])]
    assert paid == [0, HYD // 2]


def test_a_hundred_cost_a_few_statements(funded: World):
    with CaptureQueriesContext(connection) as queries:
        reserve_rewards([wish(number) for number in range(100)])
    assert len(queries) <= 40  # SQLite takes about sixty rows a statement
    assert Account.objects.get(kind="pending").balance == 100 * HYD
