"""S18: every door of the OpenAPI file with somebody else's ids, as everyone who must not get in. Nothing changes.

Generated from the schema: a new door is swept without a line here, and a new kind of id fails until it is named.
"""

import hashlib
import json
from dataclasses import replace

import pytest
from django.apps import apps
from django.core import serializers

from marketplace.models import Evidence, Job, Release, Submission, Verdict
from marketplace.services import storage

from .conftest import Caller, caller, make_campaign, make_user
from .doors import Door, all_doors, check_answer
from .training import Volunteer, make_release, signed_round

DOORS = all_doors()
NOT_THERE_YET = "/proof"  # the item's reward has no number in this world
OWN_DOOR = {"post auth/revoke"}  # a read-only token may end itself


@pytest.fixture
def theirs(settings, tmp_path, ada, ben) -> dict[str, object]:
    """Ids of everything there is, all of it Ada's or Ben's, in a campaign that is a draft again."""
    settings.MEDIA_ROOT = tmp_path
    campaign = make_campaign(ada, "secret-plan", modality="text")
    release = make_release(campaign, ben)
    submission = Submission.objects.get()
    item = submission.items.order_by("pk")[0]
    item.served_key = storage.store_served(item.public_id, b"\x89PNG")
    item.save()
    Evidence.objects.create(item=item, validator="v", version="1", outcome="ok", digest="0" * 64)
    Verdict.objects.create(item=item, sequence=1, outcome="accepted", reason="x")
    job = Job.objects.create(
        owner=ben, release=release, recipe="text-hashed-bow", recipe_version="1", credit_limit=10**9,
        nano_per_sample=1, parameters={"steps": 1, "batch_size": 8, "seed": 0}, state="running",
        checkpoint_key=storage.store("jobs/x.safetensors", b"x"), checkpoint_step=1, checkpoint_sha256="1" * 64,
    )  # fmt: skip
    record = signed_round(str(job.public_id), 0, release.train_items, [Volunteer.of(ben, 7)])
    job.rounds.create(step=0, term=0, samples=8, record=record)
    campaign.state = "draft"
    campaign.save()
    return {
        "slug": campaign.slug, "submissions": submission.public_id, "items": item.public_id,
        "releases": release.public_id, "jobs": job.public_id, "step": 0, "name": "evidence.jsonl",
    }  # fmt: skip


def path_of(door: Door, ids: dict[str, object]) -> str:
    """`public_id` is of whatever the path's part before it names."""
    parts = door.path.split("/")
    found = dict(ids)
    for place, name in (
        (parts[index - 1], part[1:-1]) for index, part in enumerate(parts) if part.startswith("{")
    ):
        if name == "public_id":
            found[name] = ids[place]
        assert name in found, f"{door}: teach the sweep what {{{name}}} is"
    return door.at(**found)


def call(client: Caller, door: Door, ids: dict[str, object], body: object = None):
    path = path_of(door, ids)
    if door.method == "get":
        return client.ask(path)
    if door.method == "head":
        return client.head(f"/api/v1/{path}")
    return client.send(path, body or {}, method=door.method)


def everything() -> str:
    """All rows of all tables, but for the callers' own tokens."""
    models = [model for name in ("marketplace", "ledger") for model in apps.get_app_config(name).get_models()]
    rows = [
        serializers.serialize("json", model.objects.order_by("pk"))
        for model in models
        if model.__name__ != "ApiToken"
    ]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def strangers() -> dict[str, Caller]:
    dan, eve, cleo = make_user("dan", "sponsor"), make_user("eve"), make_user("cleo", "moderate")
    return {
        "anonymous": Caller(),
        "read-only": caller(eve, "read"),
        "another sponsor": caller(dan, "read", "write"),
        "a moderator's token without the scope": caller(cleo, "read", "write"),
        "a peer": caller(eve, "peer"),
    }


def test_nobody_reaches_what_is_somebody_else_s(theirs):
    callers, doors = strangers(), [door for door in DOORS if door.names]
    assert len(doors) > 25
    before = everything()
    for who, client in callers.items():
        for door in doors:
            answer = call(client, door, theirs)
            assert answer.status_code in (401, 403, 404), f"{door} as {who}: {answer.status_code}"
            assert set(answer.json()) <= {"code", "message"}, f"{door} as {who}"
            assert "secret-plan" not in answer.body.decode()
    assert everything() == before


def test_the_owners_do_reach_it(theirs, ada, ben):
    """The sweep's ids are right: the people they belong to get in."""
    reading = [door for door in DOORS if door.names and door.method == "get"]
    for door in reading:
        if not str(door).endswith(NOT_THERE_YET):
            owner = ben if "/jobs/" in door.path else ada
            assert call(caller(owner), door, theirs).status_code == 200, str(door)


def test_anonymous_gets_in_only_where_the_schema_says_so(theirs):
    before = everything()
    for door in DOORS:
        if door.has_login and not door.is_open:
            answer = call(Caller(), door, theirs)
            assert answer.status_code == 401, f"{door}: {answer.status_code}"
            assert answer["WWW-Authenticate"]
    assert everything() == before


def test_a_read_only_token_writes_nothing(theirs):
    client, before = caller(make_user("eve"), "read"), everything()
    for door in DOORS:
        if door.method != "get" and door.has_login and str(door) not in OWN_DOOR:
            answer = call(client, door, theirs)
            assert (answer.status_code, answer.json()["code"]) == (403, "scope"), str(door)
    assert everything() == before


def test_asking_for_the_head_opens_no_more_than_getting(theirs):
    for who, client in strangers().items():
        for door in DOORS:
            if door.method == "get":
                head = replace(door, method="head")
                got, headed = call(client, door, theirs).status_code, call(client, head, theirs).status_code
                assert got == headed, f"{door} as {who}"


def test_answers_are_what_the_schema_says(theirs, ada, ben, cleo):
    """Of every door that reads, as whoever may."""
    backbone = caller(make_user("backbone"), "backbone")
    for door in DOORS:
        if door.method == "get" and door.answer:
            clients = [caller(ada), caller(ben), caller(cleo, "read", "moderate"), backbone]
            answers = [call(client, door, theirs) for client in clients]
            good = [json.loads(answer.body) for answer in answers if answer.status_code == 200]
            assert good or str(door).endswith(NOT_THERE_YET), str(door)
            for answer in good:
                check_answer(door, answer)


def test_lists_do_not_leak(theirs):
    told = [str(value) for name, value in theirs.items() if name not in ("step", "name")]
    for who, client in strangers().items():
        for door in DOORS:
            if door.method == "get" and not door.names:
                content = call(client, door, theirs).body.decode()
                assert not any(one in content for one in told), f"{door} as {who}"


def test_ids_in_bodies_are_checked_too(theirs):
    dan, cleo = make_user("dan", "sponsor"), make_user("cleo", "moderate")
    Release.objects.update(state="building")  # a ready one of an open campaign may be trained on by anyone
    before = everything()
    wish = {"release": str(theirs["releases"]), "recipe": "text-hashed-bow", "credit_limit_nano": 10**9}
    assert caller(dan).send("jobs", wish).status_code == 404
    verdicts = {"items": [str(theirs["items"])], "outcome": "rejected", "reason": "x"}
    assert caller(cleo, "write").send("moderation/verdicts", verdicts).status_code == 403
    assert caller(dan, "write", "moderate").send("moderation/verdicts", verdicts).status_code == 403
    assert everything() == before
