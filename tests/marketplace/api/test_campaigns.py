"""Campaigns: made by sponsors, changed and moved by their owner, seen by everyone once opened."""

import pytest

from ledger import service as ledger
from marketplace.models import Campaign

from .conftest import DRAFT, Caller, caller

HYD = 10**9


@pytest.fixture
def draft(ada) -> str:
    return caller(ada).send("campaigns", DRAFT).json()["slug"]


def test_a_sponsor_makes_a_draft_with_the_terms_given(ada):
    wish = {
        **DRAFT,
        "reward_base_nano": 2 * HYD,
        "image_channels": 1,
        "attributes": [{"name": "hand", "values": ["left", "right"], "targets": {"left": 0.5, "right": 0.5}}],
        "deadline": "2099-01-01T00:00:00Z",
    }
    answer = caller(ada).send("campaigns", wish)
    assert answer.status_code == 201
    shown = answer.json()
    assert shown["state"] == "draft" and shown["mine"] is True
    assert shown["reward_base"] == {"nano": 2 * HYD, "hyd": "2"}
    assert shown["image_channels"] == 1
    assert shown["budget"]["remaining"] == {"nano": 0, "hyd": "0"}


def test_who_is_no_sponsor_makes_none(ben):
    answer = caller(ben).send("campaigns", DRAFT)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert not Campaign.objects.exists()


@pytest.mark.parametrize(
    "change,place",
    [
        ({"title": ""}, "title"),
        ({"modality": "video"}, "modality"),
        ({"classes": []}, "classes"),
        ({"classes": ["a", "a"]}, "classes"),
        ({"image_channels": 2}, "image_channels"),
        ({"reward_base_nano": 0}, "reward_base_nano"),
        ({"reward_base_nano": 2**63}, "reward_base_nano"),
        ({"reward_base_nano": 10**16}, "reward_base_nano"),
        ({"classes": ["only"]}, "classes"),
        ({"attributes": {}}, "attributes"),
        ({"attributes": [5]}, "attributes"),
        ({"policy": {"no_such_rule": 1}}, "policy"),
        ({"deadline": "soon"}, "deadline"),
    ],
)
def test_a_bad_wish_names_the_place(ada, change, place):
    answer = caller(ada).send("campaigns", {**DRAFT, **change})
    assert answer.status_code == 400
    assert any(name.split(".")[0] == place for name in answer.json()["fields"]), answer.json()
    assert not Campaign.objects.exists()


def test_a_draft_is_its_owner_s_alone(ada, ben, dan, draft):
    assert caller(ada).ask(f"campaigns/{draft}").status_code == 200
    for client in (Caller(), caller(ben), caller(dan), caller(ada, "peer")):
        assert client.ask(f"campaigns/{draft}").status_code in (403, 404)
        assert draft not in client.ask("campaigns").content.decode()
    assert len(caller(ada).ask("campaigns?state=draft").json()["results"]) == 1


def test_opening_funding_and_closing(ada, draft):
    client = caller(ada)
    assert client.send(f"campaigns/{draft}/open").json()["state"] == "open"
    funded = client.send(f"campaigns/{draft}/fund", {"amount_nano": 5 * HYD}, key="f")
    assert funded.json()["budget"]["remaining"] == {"nano": 5 * HYD, "hyd": "5"}
    assert Caller().ask(f"campaigns/{draft}").json()["mine"] is False
    assert client.send(f"campaigns/{draft}/close").json()["state"] == "closed"
    again = client.send(f"campaigns/{draft}/close")
    assert (again.status_code, again.json()["code"]) == (409, "wrong_state")


def test_a_retried_funding_funds_once(ada, draft):
    client = caller(ada)
    for _ in range(3):
        assert client.send(f"campaigns/{draft}/fund", {"amount_nano": HYD}, key="f").status_code == 200
    campaign = Campaign.objects.get(slug=draft)
    assert ledger.campaign_budget(campaign.ledger_ref).funded == HYD
    assert client.send(f"campaigns/{draft}/fund", {"amount_nano": 2 * HYD}, key="f").status_code == 422
    assert client.send(f"campaigns/{draft}/fund", {"amount_nano": HYD}, key="g").status_code == 200
    assert ledger.campaign_budget(campaign.ledger_ref).funded == 2 * HYD


@pytest.mark.parametrize("amount", [0, -1, 2**63, 1.5, "much", None, True])
def test_a_bad_amount_is_400(ada, draft, amount):
    answer = caller(ada).send(f"campaigns/{draft}/fund", {"amount_nano": amount}, key="f")
    assert answer.status_code == 400
    assert "amount_nano" in answer.json()["fields"]


def test_funding_without_a_key_is_refused(ada, draft):
    answer = caller(ada).send(f"campaigns/{draft}/fund", {"amount_nano": HYD})
    assert answer.status_code == 400
    assert list(answer.json()["fields"]) == ["Idempotency-Key"]
    assert ledger.campaign_budget(Campaign.objects.get().ledger_ref).funded == 0


def test_an_address_may_be_chosen_once(ada, dan):
    assert caller(ada).send("campaigns", {**DRAFT, "slug": "my-digits"}).json()["slug"] == "my-digits"
    answer = caller(dan).send("campaigns", {**DRAFT, "slug": "my-digits"})
    assert answer.status_code == 400
    assert "slug" in answer.json()["fields"]
    assert caller(dan).send("campaigns", {**DRAFT, "slug": "no slug"}).status_code == 400
    assert caller(ada).send("campaigns/my-digits", {"slug": "other"}, method="patch").status_code == 400
    assert Campaign.objects.count() == 1


def test_a_field_that_is_not_known_is_refused(ada):
    answer = caller(ada).send("campaigns", {**DRAFT, "licens": "CC0"})
    assert answer.json()["fields"] == {"licens": ["There is no such field."]}
    assert not Campaign.objects.exists()


@pytest.mark.parametrize("step", ["open", "close", "fund", "releases"])
def test_another_sponsor_moves_nothing(ada, dan, draft, step):
    body = {"amount_nano": HYD} if step == "fund" else None
    assert caller(dan).send(f"campaigns/{draft}/{step}", body).status_code == 404
    Campaign.objects.update(state="open")
    assert caller(dan).send(f"campaigns/{draft}/{step}", body, key="k").status_code == 403
    assert Campaign.objects.get().state == "open"
    assert ledger.campaign_budget(Campaign.objects.get().ledger_ref).funded == 0


def test_a_draft_may_change_and_an_open_campaign_only_in_what_nobody_agreed_to(ada, dan, draft):
    client = caller(ada)
    path = f"campaigns/{draft}"
    changed = client.send(path, {"classes": ["x", "y"], "reward_base_nano": 7}, method="patch").json()
    assert (changed["classes"], changed["reward_base"]["nano"], changed["policy_version"]) == (
        ["x", "y"],
        7,
        2,
    )
    client.send(f"{path}/open")
    assert client.send(path, {"title": "Numbers"}, method="patch").json()["title"] == "Numbers"
    assert client.send(path, {"classes": ["z"]}, method="patch").status_code == 409
    assert caller(dan).send(path, {"title": "Mine"}, method="patch").status_code == 403
    assert Campaign.objects.get().title == "Numbers"


def test_the_list_comes_in_pages(ada):
    for number in range(5):
        Campaign.objects.create(slug=f"c{number}", title="C", owner=ada, modality="text", state="open")
    first = Caller().ask("campaigns?limit=3").json()
    assert [one["slug"] for one in first["results"]] == ["c4", "c3", "c2"]
    second = Caller().get(first["next"]).json()
    assert [one["slug"] for one in second["results"]] == ["c1", "c0"]
    assert second["next"] is None


@pytest.mark.parametrize(
    "query, place",
    [
        ("limit=abc", "limit"), ("limit=0", "limit"), ("limit=-1", "limit"), ("limit=201", "limit"),
        ("limit=", "limit"), ("limit=%D9%A3", "limit"), ("cursor=nonsense", "cursor"), ("page=2", "page"),
        ("offset=5", "offset"),
    ],
)  # fmt: skip
def test_a_bad_page_is_400_and_names_the_parameter(campaign, query, place):
    answer = Caller().ask(f"campaigns?{query}")
    assert (answer.status_code, list(answer.json()["fields"])) == (400, [place])
    assert Caller().ask("campaigns?limit=200").status_code == 200
    assert Caller().ask("campaigns?modality=video").status_code == 400
