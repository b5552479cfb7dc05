"""After the reservation: settlements taken over once, acceptances that waited for money, tokens into credits."""

import pytest

from ledger import service as ledger
from marketplace.errors import FundsShort, InvalidInput, KeyReused
from marketplace.models import Item, Progress
from marketplace.rules.admission import BUDGET_EXHAUSTED
from marketplace.selectors import campaigns as selectors
from marketplace.selectors import dashboard
from marketplace.services import rewards
from marketplace.services.campaigns import fund_campaign
from marketplace.services.moderation import decide
from tests.ledger.world import World
from tests.marketplace.world import HYD, make_campaign, review_item


@pytest.fixture
def world(db) -> World:
    return World()


def accept(item: Item, moderator) -> Item:
    decide(item, moderator=moderator, outcome="accepted", reason="Fine.")
    return Item.objects.get(pk=item.pk)


def test_a_settled_reward_shows_and_can_be_unlocked(world, shapes, ben, cleo):
    item = accept(review_item(shapes, ben), cleo)
    assert rewards.apply_settlements() == 0
    world.settle()
    assert rewards.apply_settlements() > 0
    item.refresh_from_db()
    assert item.reward_status == "settled"
    cursor = Progress.objects.get(name=rewards.NEWS).cursor
    assert rewards.apply_settlements() == 0
    assert Progress.objects.get(name=rewards.NEWS).cursor == cursor
    assert rewards.unlock(ben, HYD, key="k").status == "pending"
    assert rewards.unlock(ben, HYD, key="k").amount == HYD
    world.settle()
    assert ledger.balances(ben.ledger_ref).credits == HYD


def test_news_of_an_earlier_acceptance_changes_nothing(world, shapes, ben, cleo, max_):
    item = accept(review_item(shapes, ben), cleo)
    decide(item, moderator=max_, outcome="rejected", reason="No.")
    item = accept(Item.objects.get(pk=item.pk), cleo)
    rewards.apply_settlements()  # the first key's cancellation
    item.refresh_from_db()
    assert item.reward_status == "reserved"


@pytest.mark.parametrize("amount", [0, -1, True, 1.0])
def test_amounts_that_are_none_are_refused(ben, amount):
    with pytest.raises(InvalidInput):
        rewards.unlock(ben, amount, key="k")


def test_more_than_is_there_cannot_be_unlocked(world, shapes, ben, cleo):
    accept(review_item(shapes, ben), cleo)
    with pytest.raises(FundsShort) as refused:
        rewards.unlock(ben, HYD, key="k")
    assert (refused.value.had, refused.value.asked) == (0, HYD)
    world.settle()
    rewards.unlock(ben, HYD // 2, key="k")
    with pytest.raises(KeyReused):
        rewards.unlock(ben, HYD, key="k")


def test_what_waited_for_money_is_accepted_when_it_comes(ada, ben):
    campaign = make_campaign(ada, "poor", budget=HYD)
    for number in range(3):
        review_item(campaign, ben, number, reason=BUDGET_EXHAUSTED)
    assert selectors.waiting_for_budget(campaign) == 3
    assert rewards.accept_waiting(campaign.pk) == 1
    assert rewards.accept_waiting(campaign.pk) == 0
    assert selectors.waiting_for_budget(campaign) == 2
    fund_campaign(campaign, 5 * HYD, by=ada, key="more")
    assert rewards.accept_waiting(campaign.pk) == 2
    assert campaign.items.filter(state="accepted").count() == 3
    assert all(item.verdicts.get(outcome="accepted").moderator is None for item in campaign.items.all())


def test_waiting_again_writes_no_second_verdict(ada, ben):
    campaign = make_campaign(ada, "broke", budget=0)
    item = review_item(campaign, ben, reason=BUDGET_EXHAUSTED)
    for _ in range(3):
        assert rewards.accept_waiting(campaign.pk) == 0
    assert not item.verdicts.exists()


def test_figures_lead_to_their_rows(shapes, ben, eve, cleo):
    accept(review_item(shapes, ben), cleo)
    review_item(shapes, ben, 1)
    figures = {figure.key: figure for figure in dashboard.figures(ben)}
    assert (figures["accepted"].value, figures["pending"].value, figures["rewards"].value) == (1, 1, HYD)
    for figure in figures.values():
        opened = dashboard.rows(ben, figure.key)
        amounts = (
            [row[opened.columns.index("Reward")] for row in opened.rows] if figure.key == "rewards" else []
        )
        assert sum(amounts) == figure.value if amounts else len(opened.rows) == opened.total
    assert all(figure.value == 0 for figure in dashboard.figures(eve))
