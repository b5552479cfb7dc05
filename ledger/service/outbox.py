"""How a request becomes an outbox item: its key is claimed first, so that a retry finds it and a rival waits for it."""

import json
from collections.abc import Callable, Mapping
from hashlib import sha256

from django.db import IntegrityError, transaction
from django.utils import timezone

from ledger.accounting import request
from ledger.errors import BadInput, KeyReused
from ledger.models import Entry, OutboxItem
from ledger.operations import operation_of
from ledger.posting import Check, Reason, post

Fields = Mapping[str, object]


def submit(
    kind: str, key: str, body: Fields, build: Callable[[], Fields], *, check: Check | None = None
) -> OutboxItem:
    """Claims the key, then posts the request. `build` gives the row's fields; `check` sees the locked balances.

    Returns the item: a new one, or the one that this key and this body made before.
    Raises: KeyReused; whatever `build` or `check` raises, and then nothing is written and the key stays free.
    """
    fingerprint = fingerprint_of(body)
    if (known := find_known(kind, key, fingerprint)) is not None:
        return known
    try:
        with transaction.atomic():
            return create(kind, key, fingerprint, build(), check)
    except IntegrityError:
        if (rival := find_known(kind, key, fingerprint)) is None:
            raise
        return rival


def create(kind: str, key: str, fingerprint: str, fields: Fields, check: Check | None) -> OutboxItem:
    now = timezone.now()
    item = OutboxItem.objects.create(kind=kind, key=key, fingerprint=fingerprint, created_at=now, **fields)
    post(request(operation_of(item)), Reason(Entry.Move.REQUEST, now, item.pk), check=check)
    return item


def find_known(kind: str, key: str, fingerprint: str) -> OutboxItem | None:
    if not key or len(key) > 190:
        raise BadInput("key", key, "a text of 1 to 190 characters")
    item = OutboxItem.objects.filter(kind=kind, key=key).select_related("batch", "user", "job").first()
    if item is not None and item.fingerprint != fingerprint:
        raise KeyReused(key)
    return item


def fingerprint_of(body: Fields) -> str:
    return sha256(json.dumps(body, sort_keys=True, default=str).encode()).hexdigest()
