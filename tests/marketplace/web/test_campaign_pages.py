"""The sponsor's form and buttons, and what a visitor reads."""

import pytest

from ledger import service as ledger
from marketplace.models import Campaign
from tests.marketplace.web.conftest import browser, make_campaign

FORM = {
    "title": "Street signs", "description": "Signs.", "modality": "image", "classes": "stop\nyield\n\n", "image_channels": "3",
    "image_min_side": "64", "text_column": "", "label_column": "", "columns": "", "reward_base": "1.25",
    "near_duplicates": "duplicate", "cold_start": "review", "reject_bad_technical": "on", "review_suspect_labels": "on",
    "licence": "CC0-1.0", "consent_text": "Mine.", "deadline": "", "groups-TOTAL_FORMS": "1", "groups-INITIAL_FORMS": "0",
    "groups-0-name": "light", "groups-0-shares": "day: 60\nnight: 40",
}  # fmt: skip


def test_a_sponsor_writes_a_draft_without_json(ada) -> None:
    response = browser(ada).post("/campaigns/new/", FORM)
    made = Campaign.objects.get(title="Street signs")
    assert response["Location"] == f"/campaigns/{made.slug}/"
    assert (made.classes, made.reward_base, made.state) == (["stop", "yield"], 1_250_000_000, "draft")
    assert made.attributes == [
        {"name": "light", "values": ["day", "night"], "targets": {"day": 0.6, "night": 0.4}}
    ]
    assert made.policy["cold_start"] == "review"


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"title": "ab"}, "3 to 120 characters"),
        ({"classes": ""}, "This field is required."),
        ({"reward_base": "1.2345678901"}, "at most nine decimals"),
        ({"reward_base": "lots"}, "Write a decimal number of HYD"),
        ({"groups-0-shares": "day: 60\nnight: 60"}, "Group 1: the shares sum to 120 %, not 100 %"),
        ({"groups-0-shares": "day: 50\nday: 50"}, "Group 1, line 2: "),
        ({"classes": "stop\nstop"}, "Line 2: "),
        ({"modality": "tabular", "columns": "age: number\nage: number"}, "Line 2: "),
        (
            {"modality": "tabular", "columns": "age: number 9 to 1"},
            "Line 1: the lower limit is above the upper one",
        ),
        ({"groups-0-shares": "day: most"}, "Line 1: write the target as a number of percent"),
        ({"groups-0-name": ""}, "Name the attribute these groups belong to."),
        ({"modality": "tabular", "columns": ""}, "1 to 200 columns"),
        ({"modality": "tabular", "columns": "age"}, "Line 1: write"),
        ({"image_min_side": "0"}, "greater than or equal to 1"),
    ],
)
def test_a_wrong_field_is_told_in_words(changes, words, ada) -> None:
    response = browser(ada).post("/campaigns/new/", {**FORM, **changes})
    assert response.status_code == 422
    assert words in response.content.decode()
    assert not any(place in response.content.decode() for place in ("attributes.0", "columns.", "classes.1"))
    assert not Campaign.objects.exists()


def test_a_table_is_described_in_lines(ada) -> None:
    columns = "age: number 0 to 120\ncolour: category red, green"
    browser(ada).post("/campaigns/new/", {**FORM, "modality": "tabular", "columns": columns, "groups-0-name": "", "groups-0-shares": ""})  # fmt: skip
    assert Campaign.objects.get().columns == [
        {"name": "age", "type": "number", "low": 0.0, "high": 120.0},
        {"name": "colour", "type": "category", "values": ["red", "green"]},
    ]


def test_a_draft_comes_back_into_the_form_as_it_was_typed(ada) -> None:
    browser(ada).post("/campaigns/new/", FORM)
    page = browser(ada).get(f"/campaigns/{Campaign.objects.get().slug}/edit/").content.decode()
    assert "stop\nyield" in page
    assert "day: 60\nnight: 40" in page
    assert 'value="1.25"' in page


def test_an_open_campaign_keeps_its_terms(ada, campaign) -> None:
    client = browser(ada)
    assert 'name="classes"' not in client.get(f"/campaigns/{campaign.slug}/edit/").content.decode()
    client.post(
        f"/campaigns/{campaign.slug}/edit/",
        {"title": "New title", "description": "", "deadline": "", "classes": "x"},
    )
    campaign.refresh_from_db()
    assert (campaign.title, campaign.classes) == ("New title", ["0", "1"])


def test_the_sponsor_opens_funds_and_closes(ada) -> None:
    draft, client = make_campaign(ada, state="draft", opened_at=None), browser(ada)
    client.post(f"/campaigns/{draft.slug}/open/")
    client.post(f"/campaigns/{draft.slug}/fund/", {"amount": "12.5", "key": "k1"})
    client.post(f"/campaigns/{draft.slug}/fund/", {"amount": "12.5", "key": "k1"})
    draft.refresh_from_db()
    assert draft.state == "open"
    assert ledger.campaign_budget(draft.ledger_ref).funded == 12_500_000_000
    client.post(f"/campaigns/{draft.slug}/close/")
    draft.refresh_from_db()
    assert draft.state == "closed"


def test_a_wrong_amount_funds_nothing(ada, campaign) -> None:
    page = (
        browser(ada).post(f"/campaigns/{campaign.slug}/fund/", {"amount": "-3"}, follow=True).content.decode()
    )
    assert "At least 0.000000001 HYD." in page
    assert ledger.campaign_budget(campaign.ledger_ref).funded == 0


def test_closing_twice_is_told(ada) -> None:
    closed = make_campaign(ada, state="closed")
    page = browser(ada).post(f"/campaigns/{closed.slug}/close/", follow=True).content.decode()
    assert "The campaign is closed." in page


def test_a_release_of_nothing_is_refused(ada, campaign) -> None:
    page = browser(ada).post(f"/campaigns/{campaign.slug}/release/", follow=True).content.decode()
    assert "No item was accepted yet" in page
    assert campaign.releases.count() == 0


def test_a_release_is_begun(ada, submission, campaign) -> None:
    response = browser(ada).post(f"/campaigns/{campaign.slug}/release/")
    made = campaign.releases.get()
    assert response["Location"] == f"/releases/{made.public_id}/"


def test_a_visitor_reads_the_terms(campaign) -> None:
    page = browser().get(f"/campaigns/{campaign.slug}/").content.decode()
    assert "CC-BY-4.0" in page
    assert "I agree." in page
    assert "Upload data" in page
    assert "Add to the budget" not in page


def test_the_list_is_narrowed(ada) -> None:
    make_campaign(ada, "birds", modality="text")
    make_campaign(ada, "cars", state="closed")
    page = browser().get("/campaigns/?kind=text").content.decode()
    assert "Birds" in page
    assert "Cars" not in page
    assert "Nothing matches" in browser().get("/campaigns/?q=zebra").content.decode()


@pytest.mark.parametrize("number", ["0", "999", "x", "-1", "9" * 40])
def test_any_page_number_gives_a_page(number, campaign) -> None:
    assert browser().get(f"/campaigns/?page={number}").status_code == 200


NO_BUDGET = "This campaign has no budget left"


@pytest.mark.parametrize("funded, told", [(0, True), (10**9, False)])
def test_an_empty_budget_is_told_before_people_upload(funded, told, campaign, ben) -> None:
    if funded:
        ledger.fund_campaign(campaign.ledger_ref, funded, key="fund")
    for address in (f"/campaigns/{campaign.slug}/", f"/campaigns/{campaign.slug}/upload/"):
        assert (NO_BUDGET in browser(ben).get(address).content.decode()) is told
