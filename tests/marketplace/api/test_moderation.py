"""Verdicts through the API: the queue, one decision, several, and two at once (S13)."""

import threading

import pytest
from django.db import connections

from ledger import service as ledger
from marketplace.models import Item, Submission, User, Verdict

from .conftest import caller, make_campaign, make_user

HYD = 10**9
ACCEPT = {"outcome": "accepted", "reason": "Clear."}
REJECT = {"outcome": "rejected", "reason": "Blurred."}


@pytest.fixture
def items(ben, campaign) -> list[str]:
    ledger.fund_campaign(campaign.ledger_ref, 100 * HYD, key="fund")
    submission = Submission.objects.create(
        campaign=campaign, contributor=ben, consent_version=1, state="judged"
    )
    return [
        str(
            Item.objects.create(
                campaign=campaign, submission=submission, contributor=ben, position=number, name=f"{number}.png",
                label="0", needs_review=True, content_sha256=f"{number:064}", quality=0.8, novelty=1.0,
            ).public_id
        )
        for number in range(3)
    ]  # fmt: skip


def judge(user: User):
    return caller(user, "read", "write", "moderate")


def reserved(campaign) -> int:
    return ledger.campaign_budget(campaign.ledger_ref).reserved


def test_the_queue_shows_what_waits(cleo, items, campaign):
    assert {one["id"] for one in judge(cleo).ask("moderation/queue").json()["results"]} == set(items)
    Item.objects.filter(public_id=items[0]).update(needs_review=False)
    assert len(judge(cleo).ask("moderation/queue?campaign=digits").json()["results"]) == 2
    assert judge(cleo).ask("moderation/queue?campaign=other").json()["results"] == []
    assert judge(cleo).ask("moderation/queue?campaign=no/slug").status_code == 400
    for query, place in (
        ("limit=all", "limit"),
        ("page=x", "page"),
        ("page=0", "page"),
        ("cursor=x", "cursor"),
    ):
        refused = judge(cleo).ask(f"moderation/queue?{query}")
        assert (refused.status_code, list(refused.json()["fields"])) == (400, [place])
    page = judge(cleo).ask("moderation/queue?limit=1").json()
    assert page["next"] and len(page["results"]) == 1


def test_the_queue_leaves_out_the_moderator_s_own(items):
    Item.objects.update(contributor=make_user("fay", "moderate"))
    assert judge(User.objects.get(display_name="fay")).ask("moderation/queue").json()["results"] == []


def test_an_accepted_item_is_rewarded_once(cleo, items, campaign):
    answer = judge(cleo).send(f"items/{items[0]}/verdicts", ACCEPT)
    assert answer.status_code == 201
    assert (answer.json()["outcome"], answer.json()["by"]) == ("accepted", "cleo")
    item = Item.objects.get(public_id=items[0])
    assert item.state == "accepted" and item.reward == reserved(campaign) > 0
    again = judge(cleo).send(f"items/{items[0]}/verdicts", ACCEPT)
    assert (again.status_code, again.json()["code"]) == (409, "decided")
    assert Verdict.objects.count() == 1


def test_a_rejected_item_is_not_rewarded(cleo, items, campaign):
    assert judge(cleo).send(f"items/{items[0]}/verdicts", REJECT).status_code == 201
    assert Item.objects.get(public_id=items[0]).state == "rejected"
    assert reserved(campaign) == 0


def test_the_same_key_gives_the_same_verdict(cleo, items):
    path, client = f"items/{items[0]}/verdicts", judge(cleo)
    first = client.send(path, ACCEPT, key="k")
    assert client.send(path, ACCEPT, key="k").json() == first.json()
    assert client.send(path, REJECT, key="k").status_code == 422
    assert Verdict.objects.count() == 1


def test_nobody_judges_their_own(cleo, items):
    Item.objects.update(contributor=cleo)
    assert judge(cleo).send(f"items/{items[0]}/verdicts", ACCEPT).status_code == 403
    assert not Verdict.objects.exists()


@pytest.mark.parametrize(
    "body,place",
    [
        ({"outcome": "duplicate", "reason": "x"}, "outcome"),
        ({"outcome": "accepted"}, "reason"),
        ({"outcome": "accepted", "reason": " "}, "reason"),
        ({"outcome": "accepted", "reason": "x" * 501}, "reason"),
    ],
)
def test_a_bad_verdict_names_the_place(cleo, items, body, place):
    answer = judge(cleo).send(f"items/{items[0]}/verdicts", body)
    assert answer.status_code == 400
    assert place in answer.json()["fields"]


@pytest.mark.parametrize("who,scopes", [("ada", ("read", "write")), ("ben", ("read", "write", "moderate"))])
def test_owners_and_contributors_do_not_judge(request, items, who, scopes):
    client = caller(request.getfixturevalue(who), *scopes)
    assert client.send(f"items/{items[0]}/verdicts", ACCEPT).status_code == 403
    assert client.send("moderation/verdicts", {**ACCEPT, "items": items}).status_code == 403
    assert client.ask("moderation/queue").status_code == 403
    assert not Verdict.objects.exists()


def test_several_are_decided_together(cleo, items):
    answer = judge(cleo).send("moderation/verdicts", {**ACCEPT, "items": [*items, items[0]]})
    assert answer.status_code == 201
    assert answer.json()["decided"] == 3
    assert set(Item.objects.values_list("state", flat=True)) == {"accepted"}


def test_one_wrong_id_among_several_changes_nothing(cleo, items):
    unknown = "00000000-0000-4000-8000-000000000000"
    answer = judge(cleo).send("moderation/verdicts", {**ACCEPT, "items": [*items, unknown]})
    assert answer.status_code == 404
    judge(cleo).send(f"items/{items[2]}/verdicts", ACCEPT)
    assert judge(cleo).send("moderation/verdicts", {**ACCEPT, "items": items}).status_code == 409
    assert Verdict.objects.count() == 1


@pytest.mark.parametrize("wrong", [[], ["x"], "x", None, [None]])
def test_a_bad_list_of_items_is_400(cleo, items, wrong):
    assert judge(cleo).send("moderation/verdicts", {**ACCEPT, "items": wrong}).status_code == 400


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("second", [ACCEPT, REJECT])
def test_two_moderators_at_once_make_one_decision(second):
    people = [make_user("gus", "moderate"), make_user("hal", "moderate")]
    ben, campaign = make_user("ben"), make_campaign(make_user("ada", "sponsor"))
    item = _item(ben, campaign)
    start, answers = threading.Barrier(2), []

    def act(client, body):
        start.wait()
        answers.append(client.send(f"items/{item}/verdicts", body).status_code)
        connections.close_all()

    clients = [judge(person) for person in people]
    threads = [
        threading.Thread(target=act, args=pair) for pair in zip(clients, (ACCEPT, second), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) in ([201, 409], [201, 503], [201, 201])
    verdicts = list(Verdict.objects.order_by("sequence"))
    if (
        answers.count(201) == 2
    ):  # one after the other is no race: the later one saw the earlier and overturned it
        assert second is REJECT and [one.sequence for one in verdicts] == [1, 2]
    else:
        assert len(verdicts) == 1
    last = verdicts[-1].outcome
    reward = Item.objects.get().reward
    assert reserved(campaign) == (reward if last == "accepted" else 0)


def _item(ben: User, campaign) -> str:
    ledger.fund_campaign(campaign.ledger_ref, 100 * HYD, key="fund")
    submission = Submission.objects.create(
        campaign=campaign, contributor=ben, consent_version=1, state="judged"
    )
    item = Item.objects.create(
        campaign=campaign, submission=submission, contributor=ben, position=0, name="a.png", label="0",
        needs_review=True, content_sha256="0" * 64, quality=0.8, novelty=1.0,
    )  # fmt: skip
    return str(item.public_id)
