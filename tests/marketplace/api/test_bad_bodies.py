"""Whatever is sent to a door, it answers with a refusal in words and never with a 500: bodies made from the schema."""

from typing import Any

import pytest
from django.core.cache import cache
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from marketplace.models import Job, Submission

from .conftest import caller, make_campaign, make_user
from .doors import Door, all_doors, schema
from .test_sweep import path_of
from .training import make_release

DOORS = [door for door in all_doors() if door.body or door.parameters]
SCHEMAS = schema()["components"]["schemas"]
JUNK = st.one_of(
    st.none(), st.booleans(), st.just(float("1e300")), st.just(2**63), st.just(-1), st.text(max_size=8),
    st.sampled_from(["", "nan", "2030-01-01T00:00:00Z", "0" * 64, "\x00", "00000000-0000-4000-8000-000000000000"]),
    st.lists(st.integers(), max_size=2), st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)  # fmt: skip
FEW = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
    ],
)


def values_for(kind: dict[str, Any], depth: int = 0) -> st.SearchStrategy[Any]:
    """Values that the schema allows, or nearly; one in a few is junk."""
    if "$ref" in kind:
        return values_for(SCHEMAS[kind["$ref"].rsplit("/", 1)[1]], depth)
    if "allOf" in kind or "oneOf" in kind:
        return st.one_of([values_for(one, depth) for one in kind.get("allOf") or kind["oneOf"]])
    if depth > 3:
        return JUNK
    return st.one_of(_fitting(kind, depth), _fitting(kind, depth), JUNK) if depth else _fitting(kind, depth)


def _fitting(kind: dict[str, Any], depth: int) -> st.SearchStrategy[Any]:
    if "enum" in kind:
        return st.sampled_from(kind["enum"])
    match kind.get("type"):
        case "object" if "properties" in kind:
            known = {name: values_for(one, depth + 1) for name, one in kind["properties"].items()}
            wanted = {name: known.pop(name) for name in kind.get("required", [])}
            return st.fixed_dictionaries(wanted, optional=known)
        case "array":
            return st.lists(values_for(kind.get("items", {}), depth + 1), max_size=3)
        case "integer":
            return st.integers(kind.get("minimum", -(2**31)), kind.get("maximum", 2**31))
        case "number":
            return st.floats(0, 1e6)
        case "boolean":
            return st.booleans()
        case "string" if kind.get("format") == "uuid":
            return st.uuids().map(str)
        case "string":
            return st.text(min_size=1, max_size=12)
    return JUNK


@pytest.fixture
def ids(db, settings, tmp_path) -> dict[str, object]:
    """One of everything, owned by the person who calls every door with every scope."""
    settings.MEDIA_ROOT = tmp_path
    boss, ben = make_user("boss", "sponsor", "moderate"), make_user("ben")
    campaign = make_campaign(boss, "texts", modality="text")
    release = make_release(campaign, ben)
    own = Submission.objects.create(campaign=campaign, contributor=boss, consent_version=1)
    job = Job.objects.create(
        owner=boss, release=release, recipe="text-hashed-bow", recipe_version="1", credit_limit=10**9,
        nano_per_sample=1, parameters={"steps": 5, "batch_size": 8, "seed": 0}, state="running",
    )  # fmt: skip
    return {
        "boss": boss, "slug": "texts", "submissions": own.public_id, "items": campaign.items.earliest("pk").public_id,
        "releases": release.public_id, "jobs": job.public_id, "step": 0, "name": "manifest.json",
    }  # fmt: skip


@pytest.mark.parametrize("door", [door for door in DOORS if door.body], ids=str)
def test_no_body_breaks_a_door(ids, door: Door):
    client = caller(ids["boss"], "read", "write", "moderate", "backbone")
    path = path_of(door, ids)

    @FEW
    @given(body=values_for(door.body or {}))
    def try_it(body):
        cache.clear()
        answer = client.send(path, body, method=door.method)
        assert answer.status_code < 500
        if answer.status_code >= 400:
            assert answer.json()["code"] and answer.json()["message"]

    try_it()


@pytest.mark.parametrize("door", [door for door in DOORS if door.parameters], ids=str)
def test_no_query_breaks_a_door(ids, door: Door):
    client = caller(ids["boss"], "read", "write", "moderate", "backbone")
    path = path_of(door, ids)
    known = {one["name"]: values_for(one["schema"], 1) for one in door.parameters}

    @FEW
    @given(query=st.fixed_dictionaries({}, optional=known))
    def try_it(query):
        answer = client.ask(path, data={name: str(value) for name, value in query.items()})
        assert answer.status_code < 500

    try_it()
