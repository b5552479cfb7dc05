"""The queue: one decision, many decisions, and what is refused."""

import pytest

from ledger import service as ledger
from marketplace.models import Verdict
from tests.marketplace.web.conftest import browser

HTMX = {"HX-Request": "true"}


def decide(client, item, outcome: str, *, htmx: bool = True, **fields):
    body = {"outcome": outcome, "seen": item.state, "key": "", **fields}
    return client.post(f"/moderation/{item.public_id}/", body, headers=HTMX if htmx else None)


def test_the_queue_shows_what_waits_and_not_ones_own(waiting, cleo) -> None:
    page = browser(cleo).get("/moderation/").content.decode()
    assert page.count('class="card queue-card"') == 1
    assert waiting.name in page
    waiting.contributor = cleo
    waiting.save()
    assert "Nothing waits for you" in browser(cleo).get("/moderation/").content.decode()


def test_accepting_swaps_the_card(waiting, cleo) -> None:
    ledger.fund_campaign(waiting.campaign.ledger_ref, 100 * 10**9, key="fund")
    response = decide(browser(cleo), waiting, "accepted", words="Clearly a zero.")
    waiting.refresh_from_db()
    assert (waiting.state, waiting.needs_review) == ("accepted", False)
    assert Verdict.objects.get(item=waiting).reason.startswith("Clearly a zero.")
    assert "<html" not in response.content.decode()


def test_an_empty_budget_is_told_on_the_card(waiting, cleo) -> None:
    page = decide(browser(cleo), waiting, "accepted").content.decode()
    assert "budget has 0 HYD left" in page
    assert waiting.verdicts.count() == 0


def test_rejecting_needs_a_reason(waiting, cleo) -> None:
    response = decide(browser(cleo), waiting, "rejected")
    waiting.refresh_from_db()
    assert "Give a reason: the contributor will read it." in response.content.decode()
    assert (waiting.state, waiting.verdicts.count()) == ("pending", 0)


def test_rejecting_joins_the_chosen_and_the_typed_reason(waiting, cleo) -> None:
    decide(browser(cleo), waiting, "rejected", reason="The label is wrong.", words="It is a one.")
    waiting.refresh_from_db()
    assert (waiting.state, waiting.reason) == ("rejected", "The label is wrong. It is a one.")


def test_a_plain_form_returns_to_the_queue_as_it_was(waiting, cleo) -> None:
    response = decide(browser(cleo), waiting, "rejected", htmx=False, words="No.", query="campaign=digits")
    assert response["Location"] == "/moderation/?campaign=digits"


def test_the_second_decision_is_told_that_it_came_too_late(waiting, cleo) -> None:
    decide(browser(cleo), waiting, "rejected", words="No.")
    response = decide(browser(cleo), waiting, "rejected", words="No again.")
    assert waiting.verdicts.count() == 1
    assert "was rejected in the meantime. Look at the page again" in response.content.decode()


@pytest.mark.parametrize("outcome", ["", "ignored", "duplicate"])
def test_other_outcomes_are_refused(outcome, waiting, cleo) -> None:
    response = decide(browser(cleo), waiting, outcome, words="x")
    assert "Choose accept or reject." in response.content.decode()
    assert waiting.verdicts.count() == 0


@pytest.mark.parametrize("who, status", [("ben", 403), ("ada", 403), ("eve", 403)])
def test_only_moderators_decide(who, status, waiting, world) -> None:
    assert decide(world.client(who), waiting, "accepted").status_code == status
    assert waiting.verdicts.count() == 0


def test_many_are_decided_at_once(submission, cleo) -> None:
    submission.items.filter(state="pending").update(needs_review=True)
    ids = [str(one.public_id) for one in submission.items.filter(state="pending")]
    page = (
        browser(cleo)
        .post("/moderation/many/", {"items": ids, "outcome": "rejected", "reason": "No."}, follow=True)
        .content.decode()
    )
    assert "2 items decided." in page
    assert submission.items.filter(state="rejected").count() == 3


def test_many_are_all_or_none(submission, cleo) -> None:
    submission.items.filter(state="pending").update(needs_review=True)
    ids = [str(one.public_id) for one in submission.items.filter(state__in=["pending", "rejected"])]
    browser(cleo).post("/moderation/many/", {"items": ids, "outcome": "rejected", "reason": "No."})
    assert submission.items.filter(state="pending").count() == 2


@pytest.mark.parametrize(
    "form, words",
    [
        ({"outcome": "accepted"}, "Tick at least one item first."),
        ({"items": ["x"] * 501, "outcome": "accepted"}, "At most 500 items at once."),
    ],
)
def test_a_wrong_choice_of_many_is_told(form, words, cleo) -> None:
    assert words in browser(cleo).post("/moderation/many/", form, follow=True).content.decode()
