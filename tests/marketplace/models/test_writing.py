"""Prepared statements store what Django's own writing stores, whatever the kind of column or value."""

import gc
from datetime import UTC, datetime

import pytest

from marketplace.models import Evidence, Item, Verdict
from marketplace.models.writing import insert_rows, new_row, uncollected, update_rows
from tests.marketplace.world import accepted_items

pytestmark = pytest.mark.django_db

VALUES = {
    "validator": "technical_image", "version": "1", "seed": 7, "score": 0.25, "direction": "quality",
    "outcome": Evidence.Outcome.OK, "reasons": ["é", "b"], "data": {"n": 1.5, "of": None, "deep": [{"a": True}]},
    "input_sha256": "a" * 64, "digest": "b" * 64,
}  # fmt: skip
OWN = ("id", "public_id", "created_at")


@pytest.fixture
def item(shapes, ben) -> Item:
    return accepted_items(shapes, ben, 1)[0]


def stored(model, **where) -> list[dict]:
    return [
        {name: value for name, value in row.items() if name not in OWN}
        for row in model.objects.filter(**where).order_by("pk").values()
    ]


@pytest.mark.parametrize(
    "change",
    [{}, {"score": None}, {"score": 1}, {"reasons": (), "data": {}}, {"outcome": "bad"}, {"seed": True}],
    ids=["all", "nothing", "whole", "empty", "plain text", "a flag for a number"],
)
def test_a_row_is_stored_as_django_stores_it(item, change):
    Evidence.objects.create(item=item, **VALUES | change)
    insert_rows([new_row(Evidence, {"item_id": item.pk, **VALUES, **change})])
    first, second = stored(Evidence)
    assert first == second and first["item_id"] == item.pk


def test_rows_of_one_call_have_one_date_and_know_it(item):
    rows = [new_row(Evidence, {"item_id": item.pk, **VALUES}) for _ in range(3)]
    insert_rows(rows)
    assert {row.created_at for row in rows} == set(Evidence.objects.values_list("created_at", flat=True))
    assert len({row.public_id for row in rows}) == 3 and rows[0].created_at is not None


def test_defaults_are_each_rows_own(item):
    one, other = (new_row(Evidence, {"item_id": item.pk}) for _ in range(2))
    one.data["a"] = 1
    assert other.data == {} and other.direction == "quality"


def test_an_unknown_column_is_named():
    with pytest.raises(TypeError, match=r"Evidence has no columns \['item', 'scores'\]"):
        new_row(Evidence, {"item": 1, "scores": 2})


def test_what_a_constraint_refuses_is_left_out_only_on_demand(item):
    verdict = {"item_id": item.pk, "sequence": 1, "outcome": "accepted", "reason": "Good."}
    insert_rows([new_row(Verdict, verdict)])
    insert_rows([new_row(Verdict, verdict | {"sequence": n}) for n in (1, 2)], ignore_conflicts=True)
    assert list(Verdict.objects.order_by("pk").values_list("sequence", flat=True)) == [1, 2]


def test_only_rows_that_are_as_expected_are_updated(shapes, ben):
    items = accepted_items(shapes, ben, 3)
    at = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
    Item.objects.filter(pk=items[1].pk).update(state="rejected")
    for item in items:
        item.reason, item.decided_at, item.features = "Seen.", at, {"a": [1.5]}
    fields = ("reason", "decided_at", "features")
    assert update_rows(items, fields, where={"state": "accepted"}) == 2
    rows = list(Item.objects.order_by("pk").values_list(*fields))
    assert rows == [("Seen.", at, {"a": [1.5]}), ("", None, {}), ("Seen.", at, {"a": [1.5]})]
    assert update_rows([], fields) == 0


def test_the_collector_is_back_whatever_happens():
    with uncollected():
        with uncollected():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), uncollected():
        raise KeyError
    assert gc.isenabled()
