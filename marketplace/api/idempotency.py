"""One effect per Idempotency-Key: the answer is kept, the same request gets it again, another body is refused.

The claim of a key is committed before the work starts; the answer is stored in the transaction of the work, so a
crash leaves a claim without effects, which the next try takes over.
"""

import hashlib
import json
import os
import socket
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime, timedelta
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError, transaction
from django.utils import timezone
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from marketplace.api.auth import caller_of
from marketplace.api.errors import Refused
from marketplace.errors import InvalidInput, KeyReused
from marketplace.models import IdempotentRequest

HEADER = "Idempotency-Key"
LONGEST_WORK = timedelta(minutes=10)  # no request lives longer, so an older claim has no owner

Act = Callable[[str], Response]


def answer_once(request: Request, act: Act, *, whole: bool = True, required: bool = False) -> Response:
    """Runs `act(key)` at most once per user, door and key; without the header, once per call, or not where `required`.

    `act` gets a key of 64 hex digits to hand to services, which no other user or door can produce. `whole=False`
    for work that must not hold a database transaction while it runs (decoding an upload).

    Raises: KeyReused (422), Refused 409 `in_progress`, 400 for a malformed key; InvalidInput for one that is missing.
    """
    key = _read_key(request)
    if key is None and required:
        message = "Send the header Idempotency-Key, so that a retry does not pay twice."
        raise InvalidInput(message, fields={HEADER: message})
    if key is None:
        return act(hashlib.sha256(uuid.uuid4().bytes).hexdigest())
    row, is_new = _claim(request, key, timezone.now())
    if not is_new:
        return Response(row.answer, status=row.status, headers={"Idempotent-Replayed": "true"})
    with _released_on_failure(row), transaction.atomic() if whole else nullcontext():
        response = act(hashlib.sha256(f"{row.user_id}\n{row.door}\n{key}".encode()).hexdigest())
        answer = json.loads(JSONRenderer().render(response.data)) if response.data is not None else None
        IdempotentRequest.objects.filter(pk=row.pk).update(status=response.status_code, answer=answer)
    return response


def _read_key(request: Request) -> str | None:
    key = request.headers.get(HEADER)
    if key is None:
        return None
    if not 1 <= len(key) <= 100 or not key.isascii() or not key.isprintable():
        raise Refused(400, "invalid", f"{HEADER} must be 1 to 100 printable ASCII characters.")
    return key


def _claim(request: Request, key: str, now: datetime) -> tuple[IdempotentRequest, bool]:
    """The row of this key, and whether the caller now owns the work."""
    door = f"{request.method} {request.resolver_match.url_name}"  # type: ignore[union-attr]
    user, body = caller_of(request), _body_digest(request)
    try:
        with transaction.atomic():
            row = IdempotentRequest.objects.create(
                user=user, door=door, key=key, body_sha256=body, answer=_owner_mark()
            )
        return row, True
    except IntegrityError:
        found = IdempotentRequest.objects.filter(user=user, door=door, key=key).first()
    if found is None:  # released by a failure between our two looks
        raise _still_running()
    row = found
    if row.body_sha256 != body:
        raise KeyReused
    if row.status is not None:
        return row, False
    if _is_abandoned(row, now) and _take_over(row, now):
        return row, True
    raise _still_running()


def _still_running() -> Refused:
    return Refused(409, "in_progress", "The first request with this key is still running.", retry_after_s=1)


def _body_digest(request: Request) -> str:
    """Of path and content; equal for JSON that differs in spacing or order only."""
    digest = hashlib.sha256(request.path.encode())
    parts = request.data.lists() if hasattr(request.data, "lists") else [("", request.data)]
    for name, value in parts:
        for one in value if isinstance(value, list) else [value]:
            digest.update(f"\n{name}\n".encode())
            if isinstance(one, UploadedFile):
                digest.update(f"{one.name}\n".encode())
                for chunk in one.chunks():
                    digest.update(chunk)
                one.seek(0)
            else:
                digest.update(json.dumps(one, sort_keys=True).encode())
    return digest.hexdigest()


def _owner_mark() -> dict[str, Any]:
    return {"host": socket.gethostname(), "pid": os.getpid()}


def _is_abandoned(row: IdempotentRequest, now: datetime) -> bool:
    """Whether the process that claimed the key is gone, as far as this machine can tell."""
    if now - row.created_at > LONGEST_WORK:
        return True
    mark = row.answer or {}
    if mark.get("host") != socket.gethostname():
        return False
    try:
        os.kill(int(mark["pid"]), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _take_over(row: IdempotentRequest, now: datetime) -> bool:
    """Compare and set on the claim's time: of several retries, one wins."""
    free = IdempotentRequest.objects.filter(pk=row.pk, status=None, created_at=row.created_at)
    return bool(free.update(created_at=now, answer=_owner_mark()))


@contextmanager
def _released_on_failure(row: IdempotentRequest) -> Iterator[None]:
    """A refusal changed nothing, so its key is free for a corrected or repeated try."""
    try:
        yield
    except BaseException:
        IdempotentRequest.objects.filter(pk=row.pk, status=None).delete()
        raise
