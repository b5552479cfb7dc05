"""Rows written in bulk are the rows that Django writes, and their keys come back in order."""

from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from ledger.models import Account, OutboxItem
from ledger.models.writing import insert_values
from ledger.posting import owner_of
from tests.ledger.world import ADA

pytestmark = pytest.mark.django_db
AT = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)


def item(place: int, **fields) -> dict:
    kind = OutboxItem.Kind.REWARD
    return {
        "kind": kind,
        "key": f"r{place}",
        "fingerprint": "f",
        "amount": place,
        "created_at": AT,
        **fields,
    }


@pytest.mark.parametrize(
    "fields", [{}, {"detail": {"offsets": [["é", 1]]}, "settled_at": AT, "number": 2**40}]
)
def test_a_row_is_stored_as_django_stores_it(fields):
    owner = owner_of(ADA)
    OutboxItem.objects.create(**item(1, user=owner, **fields))
    first = OutboxItem.objects.values().get()
    OutboxItem.objects.all().delete()
    (key,) = insert_values(OutboxItem, [item(1, user_id=owner.pk, **fields)])
    assert OutboxItem.objects.values().get() == {**first, "id": key}


def test_keys_come_back_in_the_order_of_the_rows():
    with CaptureQueriesContext(connection) as queries:
        keys = insert_values(OutboxItem, [item(number) for number in range(200)])
    amounts = dict(OutboxItem.objects.values_list("pk", "amount"))
    assert [amounts[key] for key in keys] == list(range(200)) and len(queries) < 5
    assert insert_values(OutboxItem, []) == []


def test_a_row_that_a_constraint_refuses_is_an_error():
    with pytest.raises(IntegrityError), transaction.atomic():
        insert_values(Account, [{"owner_id": owner_of(ADA).pk, "kind": "budget"}] * 2)
    assert not Account.objects.exists()
