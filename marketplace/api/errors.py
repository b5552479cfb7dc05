"""Every refusal of the API as `{"code", "message", "fields"?}`: from DRF, Django, the database or our own packages.

`fields` maps a place in the input ("parameters.steps", "items.3") to a list of what is wrong there, in words.

retry later     429 throttled · 503 busy · 409 in_progress
fix the input   400 invalid · 400 unreadable · 413 too_big · 415 media_type · 422 key_reused
ask for access  401 unauthenticated · 403 scope | forbidden · 404 not_found (also: exists, but is not yours)
stop            405 method · 500 internal (logged with its traceback, which never leaves the server)
"""

import logging
import re
from typing import Any

from django.core.exceptions import (
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    TooManyFieldsSent,
    TooManyFilesSent,
)
from django.core.signals import got_request_exception
from django.db import OperationalError
from django.http import Http404
from rest_framework import exceptions as drf
from rest_framework.response import Response

from ledger import errors as ledger_errors
from marketplace.errors import MarketError

_Answer = tuple[int, dict[str, Any], dict[str, str]]

log = logging.getLogger("marketplace.api")


class Refused(drf.APIException):
    """A refusal made by the API itself; services raise their own errors (marketplace.errors)."""

    def __init__(self, status: int, code: str, message: str, *, retry_after_s: int | None = None) -> None:
        super().__init__(message, code)
        self.status_code = status
        self.code = code
        self.wait = retry_after_s


class TooBig(Refused):
    """413: the body is larger than the door takes."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(413, "too_big", f"The body is larger than the limit of {limit_bytes:,} bytes.")


def handle_exception(exc: Exception, context: dict[str, Any]) -> Response:
    """The answer to `exc`, whatever it is. Unexpected ones are logged and become a bare 500."""
    body = _own_error(exc) or _django_error(exc) or _drf_error(exc)
    if body is None:
        return _unexpected(exc, context)
    status, answer, headers = body
    return Response(answer, status=status, headers=headers)


def _own_error(exc: Exception) -> _Answer | None:
    if isinstance(exc, Refused):
        headers = {} if exc.wait is None else {"Retry-After": str(exc.wait)}
        return exc.status_code, {"code": exc.code, "message": str(exc.detail)}, headers
    if isinstance(exc, MarketError):
        answer = {"code": exc.code, "message": exc.message, **({"fields": exc.fields} if exc.fields else {})}
        return (
            exc.status,
            answer,
            {"Retry-After": str(exc.retry_after_s or 1)} if exc.advice == "retry" else {},
        )
    return _ledger_error(exc)


def _ledger_error(exc: Exception) -> _Answer | None:
    """Refusals of the ledger that no service translated; its own mistakes are ours too, hence a 500."""
    match exc:
        case ledger_errors.KeyReused():
            status = 422
        case ledger_errors.BadInput():
            status = 400
        case ledger_errors.LedgerError(retry=True):
            status = 503
        case ledger_errors.UnbalancedPosting() | ledger_errors.ChainError():
            return None
        case ledger_errors.LedgerError():
            status = 409
        case _:
            return None
    code = re.sub(r"(?<!^)(?=[A-Z])", "_", type(exc).__name__).lower()
    return status, {"code": code, "message": str(exc)}, {"Retry-After": "1"} if status == 503 else {}


def _django_error(exc: Exception) -> _Answer | None:
    match exc:
        case Http404():
            return (
                404,
                {"code": "not_found", "message": "There is no such thing, or it is not yours to see."},
                {},
            )
        case PermissionDenied():
            return 403, {"code": "forbidden", "message": str(exc) or "You may not do this."}, {}
        case RequestDataTooBig() | TooManyFilesSent() | TooManyFieldsSent():
            return 413, {"code": "too_big", "message": "The body is too large or has too many parts."}, {}
        case SuspiciousOperation():
            return 400, {"code": "unreadable", "message": "The request could not be read."}, {}
        case OperationalError():
            log.warning("database busy: %s", exc)
            return 503, {"code": "busy", "message": "The database is busy; try again."}, {"Retry-After": "1"}
    return None


_DRF_CODES: list[tuple[type[drf.APIException], str]] = [
    (drf.ParseError, "unreadable"),
    (drf.NotAuthenticated, "unauthenticated"),
    (drf.AuthenticationFailed, "unauthenticated"),
    (drf.NotFound, "not_found"),
    (drf.MethodNotAllowed, "method"),
    (drf.NotAcceptable, "not_acceptable"),
    (drf.UnsupportedMediaType, "media_type"),
    (drf.Throttled, "throttled"),
]


def _drf_error(exc: Exception) -> _Answer | None:
    if isinstance(exc, drf.ValidationError):
        return 400, _validation(exc), {}
    if isinstance(exc, drf.PermissionDenied):
        code = "scope" if exc.detail.code == "scope" else "forbidden"  # type: ignore[union-attr]
        return 403, {"code": code, "message": str(exc.detail)}, {}
    if not isinstance(exc, drf.APIException):
        return None
    code = next((code for kind, code in _DRF_CODES if isinstance(exc, kind)), "refused")
    headers = {}
    if challenge := getattr(exc, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if wait := getattr(exc, "wait", None):
        headers["Retry-After"] = str(int(wait))
    return exc.status_code, {"code": code, "message": str(exc.detail)}, headers


def _validation(exc: drf.ValidationError) -> dict[str, Any]:
    """DRF's nested lists as {"place.in.the.body": ["what is wrong"]}, and a first sentence that stands alone."""
    fields: dict[str, list[str]] = {}
    _flatten(exc.detail, "", fields)
    place, messages = next(iter(fields.items()), ("", ["The input is not valid."]))
    message = f"{place}: {messages[0]}" if place else messages[0]
    named = {name: said for name, said in fields.items() if name}
    return {"code": "invalid", "message": message, **({"fields": named} if named else {})}


def _flatten(detail: Any, place: str, into: dict[str, list[str]]) -> None:
    if isinstance(detail, dict):
        for name, inner in detail.items():
            whole = "" if name == "non_field_errors" else str(name)
            _flatten(inner, ".".join(part for part in (place, whole) if part), into)
    elif isinstance(detail, list) and any(isinstance(inner, dict | list) for inner in detail):
        for index, inner in enumerate(detail):
            _flatten(inner, f"{place}.{index}" if place else str(index), into)
    else:
        said = detail if isinstance(detail, list) else [detail]
        into.setdefault(place, []).extend(str(one) for one in said)


def _unexpected(exc: Exception, context: dict[str, Any]) -> Response:
    request = context.get("request")
    log.error("unexpected error at %s", getattr(request, "path", "?"), exc_info=exc)
    got_request_exception.send(sender=handle_exception, request=getattr(request, "_request", request))
    answer = {"code": "internal", "message": "Something went wrong on our side. It has been logged."}
    return Response(answer, status=500)
