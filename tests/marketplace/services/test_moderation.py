"""A person's verdicts: one decision, one effect, and the money that follows (S13)."""

import pytest

from ledger import service as ledger
from marketplace.errors import BudgetShort, Conflict, InvalidInput, KeyReused, NotAllowed, WrongState
from marketplace.models import Evidence, Item, Verdict
from marketplace.rules.evidence import root_of
from marketplace.rules.reward import recompute
from marketplace.selectors import moderation as selectors
from marketplace.selectors.submissions import item_detail
from marketplace.services.moderation import decide, decide_many
from marketplace.services.releases import behind_reward
from tests.marketplace.world import HYD, budget_of, make_campaign, review_item


@pytest.fixture
def item(shapes, ben) -> Item:
    return review_item(shapes, ben)


def fresh(item: Item) -> Item:
    return Item.objects.get(pk=item.pk)


def accept(item: Item, moderator, **options) -> Verdict:
    return decide(item, moderator=moderator, outcome="accepted", reason="A clear ring.", **options)


def reject(item: Item, moderator, **options) -> Verdict:
    return decide(item, moderator=moderator, outcome="rejected", reason="This is a cross.", **options)


def test_an_acceptance_reserves_the_reward_with_its_receipt(item, shapes, cleo):
    verdict = accept(item, cleo)
    item.refresh_from_db()
    assert (item.state, item.needs_review, item.reward, item.reward_status) == (
        "accepted",
        False,
        HYD,
        "reserved",
    )
    assert (verdict.moderator, verdict.sequence, verdict.reason) == (cleo, 1, "A clear ring.")
    assert budget_of(shapes).reserved == HYD
    receipt = item.evidence.get(validator="reward")
    assert recompute(receipt.data) == HYD and [f["name"] for f in receipt.data["factors"]] == [
        "quality",
        "novelty",
        "scarcity",
    ]


def test_the_ledger_commits_to_the_evidence(item, shapes, cleo, settings):
    Evidence.objects.create(
        item=item, validator="labels", version="1", outcome="ok", score=0.5, digest="ab" * 32
    )
    accept(item, cleo)
    item.refresh_from_db()
    rows = behind_reward(item.evidence.order_by("pk"))
    root = root_of([row.digest for row in rows])
    same = ledger.RewardRequest(
        item.reward_key,
        shapes.ledger_ref,
        item.contributor.ledger_ref,
        item.ledger_ref,
        item.reward,
        root,
        "1",
    )
    assert ledger.reserve_reward(same).status == "reserved"  # the same body: nothing new
    assert budget_of(shapes).reserved == HYD


@pytest.mark.parametrize(
    "row, words",
    [
        ({"age": "old", "job": "cook"}, "“age” is “old”, not a number."),
        ({"age": 5, "job": "king"}, "“job” is “king”, not one of its 1 declared values."),
    ],
)
def test_a_row_that_no_job_could_read_is_not_accepted(ada, ben, cleo, row, words):
    columns = [
        {"name": "age", "type": "number", "low": 0, "high": 99},
        {"name": "job", "type": "category", "values": ["cook"]},
    ]
    people = make_campaign(ada, "people", modality="tabular", classes=["y", "n"], columns=columns)
    bad = review_item(people, ben, row=row)
    good = review_item(people, ben, 1, row={"age": 120, "job": None})  # doubtful, but readable
    with pytest.raises(Conflict) as refused:
        decide_many([good, bad], moderator=cleo, outcome="accepted", reason="Fine.")
    assert refused.value.code == "outside_schema"
    assert words in refused.value.message
    assert {fresh(bad).state, fresh(good).state} == {"pending"}
    accept(good, cleo)
    reject(bad, cleo)
    assert (fresh(good).state, fresh(bad).state) == ("accepted", "rejected")


def test_a_rejection_pays_nothing(item, shapes, cleo):
    reject(item, cleo)
    assert (fresh(item).state, fresh(item).reason) == ("rejected", "This is a cross.")
    assert budget_of(shapes).reserved == 0


def test_nobody_judges_their_own_and_strangers_judge_nothing(shapes, cleo, eve, item):
    own = review_item(shapes, cleo, 1)
    for judged, moderator in ((own, cleo), (item, eve)):
        with pytest.raises(NotAllowed):
            accept(judged, moderator)
    assert not Verdict.objects.exists()


def test_the_second_of_two_moderators_is_told(item, shapes, cleo, max_):
    seen = fresh(item)
    accept(item, cleo)
    for act in (accept, reject):
        with pytest.raises(Conflict):
            act(seen, max_)
    assert Verdict.objects.count() == 1 and budget_of(shapes).reserved == HYD


def test_a_double_click_decides_once(item, cleo):
    accept(item, cleo)
    with pytest.raises(Conflict):
        accept(fresh(item), cleo)


def test_a_key_answers_the_same_and_refuses_another_body(item, shapes, cleo, max_):
    first = accept(item, cleo, idempotency_key="k")
    assert accept(fresh(item), cleo, idempotency_key="k") == first
    with pytest.raises(KeyReused):
        reject(fresh(item), cleo, idempotency_key="k")
    with pytest.raises(Conflict):  # another person's key is another key
        accept(fresh(item), max_, idempotency_key="k")
    assert budget_of(shapes).reserved == HYD


def test_a_refused_decision_leaves_its_key_free(item, cleo):
    seen = fresh(item)
    reject(item, cleo)
    with pytest.raises(Conflict):
        accept(seen, cleo, idempotency_key="k")
    assert accept(fresh(item), cleo, idempotency_key="k").sequence == 2


def test_winning_back_cancels_the_reward_and_overturning_pays_anew(item, shapes, cleo, max_):
    accept(item, cleo)
    first = fresh(item).reward_key
    reject(fresh(item), max_)
    assert fresh(item).reward_status == "cancelled" and budget_of(shapes).reserved == 0
    accept(fresh(item), cleo)
    again = fresh(item)
    assert again.reward_key != first and again.reward_status == "reserved"
    assert budget_of(shapes).reserved == HYD
    assert [v.outcome for v in item.verdicts.order_by("sequence")] == ["accepted", "rejected", "accepted"]


def test_overturning_yields_to_the_same_bytes_that_came_since(shapes, ben, cleo):
    old, new = (review_item(shapes, ben, number, original_sha256="") for number in range(2))
    reject(old, cleo)
    Item.objects.filter(pk__in=[old.pk, new.pk]).update(original_sha256="aa")
    accept(fresh(new), cleo)
    with pytest.raises(Conflict, match="same content"):
        accept(fresh(old), cleo)
    assert fresh(old).state == "rejected" and old.verdicts.count() == 1


def test_several_are_decided_together_or_not_at_all(shapes, ben, cleo):
    items = [review_item(shapes, ben, number) for number in range(3)]
    verdicts = decide_many(items, moderator=cleo, outcome="accepted", reason="Fine.")
    assert [verdict.item_id for verdict in verdicts] == [item.pk for item in items]
    assert budget_of(shapes).reserved == 3 * HYD
    more = [review_item(shapes, ben, 3), fresh(items[0])]
    with pytest.raises(Conflict):
        decide_many(more, moderator=cleo, outcome="accepted", reason="Fine.")
    assert fresh(more[0]).state == "pending" and budget_of(shapes).reserved == 3 * HYD


def test_items_of_several_campaigns_are_paid_by_their_own(ada, shapes, ben, cleo):
    other = make_campaign(ada, "other", reward_base=2 * HYD)
    decide_many(
        [review_item(other, ben), review_item(shapes, ben)],
        moderator=cleo,
        outcome="accepted",
        reason="Fine.",
    )
    assert (budget_of(shapes).reserved, budget_of(other).reserved) == (HYD, 2 * HYD)


def test_without_budget_a_moderator_is_told_and_nothing_happens(ada, ben, cleo):
    poor = make_campaign(ada, "poor", budget=HYD)
    first, second = review_item(poor, ben), review_item(poor, ben, 1)
    with pytest.raises(BudgetShort) as refused:
        decide_many([first, second], moderator=cleo, outcome="accepted", reason="Fine.")
    assert (refused.value.remaining, refused.value.asked) == (0, HYD)
    assert fresh(first).state == "pending" and budget_of(poor).reserved == 0
    accept(first, cleo)
    reject(second, cleo)  # costs nothing


@pytest.mark.parametrize(
    "change, place",
    [({"outcome": "duplicate"}, "outcome"), ({"reason": "  "}, "reason"), ({"reason": "x" * 501}, "reason")],
)
def test_a_decision_needs_an_outcome_and_a_reason(item, cleo, change, place):
    with pytest.raises(InvalidInput) as refused:
        decide(item, moderator=cleo, **{"outcome": "accepted", "reason": "Fine.", **change})
    assert place in refused.value.fields


@pytest.mark.parametrize("state, review", [("pending", False), ("ignored", False)])
def test_what_is_not_up_for_judgement_is_not_judged(item, cleo, state, review):
    Item.objects.filter(pk=item.pk).update(state=state, needs_review=review)
    with pytest.raises(WrongState):
        accept(fresh(item), cleo)


def test_the_queue_leaves_out_ones_own_and_puts_the_worst_first(shapes, ben, cleo, eve):
    good, bad, own = review_item(shapes, ben), review_item(shapes, ben, 1), review_item(shapes, cleo, 2)
    for one, score in ((good, 0.9), (bad, 0.1), (own, 0.0)):
        Evidence.objects.create(
            item=one, validator="labels", version="1", outcome="suspect", score=score, digest="00"
        )
    assert list(selectors.queue(cleo)) == [bad, good]
    assert list(selectors.queue(cleo, campaign_slug="elsewhere")) == []
    assert list(selectors.queue(eve)) == []
    assert selectors.queue_counts(cleo) == [("shapes", "Shapes", 2)]


def test_an_items_page_tells_what_the_viewer_may_know(item, cleo, ben):
    accept(item, cleo)
    detail = item_detail(fresh(item), ben)
    assert detail.receipt is not None and not detail.may_judge
    assert [v.moderator for v in detail.verdicts] == [cleo]
    assert item_detail(fresh(item), cleo).may_judge
