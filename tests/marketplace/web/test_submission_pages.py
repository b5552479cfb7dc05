"""What a contributor reads about what they sent."""

import pytest

from marketplace.models import Item, Submission
from marketplace.rules.admission import BUDGET_EXHAUSTED
from tests.marketplace.web.conftest import browser


def page_of(client, address: str, **headers) -> str:
    response = client.get(address, headers=headers)
    assert response.status_code == 200
    return response.content.decode()


def test_the_batch_equation_is_shown_and_each_number_leads_to_its_items(submission, ben) -> None:
    page = page_of(browser(ben), f"/submissions/{submission.public_id}/")
    for state, count in {"accepted": 1, "duplicate": 1, "rejected": 1, "ignored": 1, "pending": 2}.items():
        assert f"?state={state}#items" in page
        assert f"<b>{count}</b><span>{state}</span>" in page
    assert "<b>6</b><span>received</span>" in page
    assert "1 of the pending items waits for a person." in page


@pytest.mark.parametrize("state, count", [("", 6), ("accepted", 1), ("pending", 2), ("nonsense", 6)])
def test_items_are_filtered_by_state(state, count, submission, ben) -> None:
    page = page_of(browser(ben), f"/submissions/{submission.public_id}/?state={state}")
    assert page.count('class="card item-card"') == count


@pytest.mark.parametrize(
    "state, polls", [("receiving", False), ("queued", True), ("validating", True), ("judged", False)]
)
def test_the_page_polls_only_while_validation_runs(state, polls, submission, ben) -> None:
    Submission.objects.update(state=state, stage="Comparing with what is there")
    page = page_of(browser(ben), f"/submissions/{submission.public_id}/")
    assert ('hx-trigger="every 2s"' in page) is polls
    assert ("Comparing with what is there" in page) is polls


def test_htmx_gets_the_live_part_alone(submission, ben) -> None:
    part = page_of(
        browser(ben), f"/submissions/{submission.public_id}/", **{"HX-Request": "true", "HX-Target": "live"}
    )
    assert "<html" not in part
    assert "item-card" not in part
    assert 'hx-select="#items"' in part
    assert part.lstrip().startswith('<div id="live"')


def test_the_item_page_tells_evidence_decisions_and_money(submission, ben) -> None:
    item = submission.items.get(state="accepted")
    page = page_of(browser(ben), f"/items/{item.public_id}/")
    for words in (
        "Sharp enough.",
        "Passed the checks.",
        "the campaign&#x27;s policy, version 1",
        "1.5 <small>HYD",
        "On chain",
        "Quality: sharp",
    ):
        assert words in page or words.replace("&#x27;", "'") in page
    assert "Judge this item" not in page


def test_names_and_texts_are_escaped(submission, ben) -> None:
    submission.items.update(
        name="<script>alert(1)</script>.png", text="<img src=x onerror=alert(1)>", reason="<b>no</b>"
    )
    page = page_of(browser(ben), f"/submissions/{submission.public_id}/")
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "<b>no</b>" not in page


def test_the_list_shows_only_ones_own(submission, ben, eve) -> None:
    assert "Digits" in page_of(browser(ben), "/submissions/")
    assert "Nothing sent yet" in page_of(browser(eve), "/submissions/")


def test_the_list_costs_the_same_for_many(submission, ben, django_assert_max_num_queries) -> None:
    for _number in range(5):
        Submission.objects.create(campaign=submission.campaign, contributor=ben, consent_version=1)
    client = browser(ben)
    with django_assert_max_num_queries(8):
        client.get("/submissions/")


def test_what_waits_for_budget_is_told_apart(submission, waiting, ben) -> None:
    """On the list of items, in the count, and on the item's own page."""
    here = f"/submissions/{submission.public_id}/"
    assert "Waiting for a moderator" in page_of(browser(ben), here)
    Item.objects.filter(pk=waiting.pk).update(reason=BUDGET_EXHAUSTED)
    for address in (here, f"/items/{waiting.public_id}/"):
        page = page_of(browser(ben), address)
        assert "Waiting for budget" in page
        assert "Waiting for a moderator" not in page
    page = page_of(browser(ben), here)
    assert "1 of the pending items passed and waits for the sponsor&#x27;s budget." in page.replace(
        "'", "&#x27;"
    )
    assert "waits for a person" not in page


def test_an_upload_that_broke_off_is_finished_here(submission, ben) -> None:
    Submission.objects.update(state="receiving")
    page = page_of(browser(ben), f"/submissions/{submission.public_id}/")
    assert f"/campaigns/digits/upload/?submission={submission.public_id}" in page
    browser(ben).post(f"/submissions/{submission.public_id}/finish/")
    submission.refresh_from_db()
    assert submission.state == "queued"
    assert "/finish/" not in page_of(browser(ben), f"/submissions/{submission.public_id}/")


@pytest.mark.parametrize("who, status", [("ada", 403), ("eve", 404)])
def test_nobody_else_finishes_it(who, status, submission, request) -> None:
    Submission.objects.update(state="receiving")
    client = browser(request.getfixturevalue(who))
    assert client.post(f"/submissions/{submission.public_id}/finish/").status_code == status
    submission.refresh_from_db()
    assert submission.state == "receiving"
