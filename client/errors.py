"""Everything the SDK raises, and what to do about each.

HydraError
├── ConfigurationError      fix the input: no address, no token, an unreadable file; nothing was sent
├── Unreachable             try again: no answer came (after the retries that are safe)
├── UnexpectedAnswer        stop: the answer is not the API's; the address is probably another server's
├── CorruptDownload         try again: the bytes received are not those that were promised
└── ApiError                the API refused: status, code, message, fields
    ├── InvalidRequest      fix the input      400 405 413 415 422
    ├── Unauthenticated     log in             401
    ├── Forbidden           ask for access     403
    ├── NotFound            fix the input      404
    ├── Conflict            look, then decide  409
    ├── Throttled           try again later    429, after retry_after_s
    └── ServerError         try again later    5xx
"""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx


class HydraError(Exception):
    """`retry`: whether the same call may succeed later, unchanged."""

    retry = False


class ConfigurationError(HydraError):
    """The message says what to set or correct."""


class Unreachable(HydraError):
    retry = True

    def __init__(self, url: str, why: str) -> None:
        super().__init__(
            f"{url} does not answer ({why}). Check the address and that the server runs, then try again."
        )
        self.url, self.why = url, why


class UnexpectedAnswer(HydraError):
    def __init__(self, url: str, status: int, why: str) -> None:
        super().__init__(f"{url} answered {status}, but {why}. Is this the address of a Hydra portal?")
        self.url, self.status, self.why = url, status, why


class CorruptDownload(HydraError):
    retry = True

    def __init__(self, name: str, expected: str, received: str) -> None:
        super().__init__(
            f"{name}: the SHA-256 of what arrived is {received[:12]}…, and {expected[:12]}… was promised. "
            "The file was removed; download it again."
        )
        self.name, self.expected, self.received = name, expected, received


class ApiError(HydraError):
    """`fields` maps places in the input to what is wrong there."""

    def __init__(
        self, status: int, code: str, message: str, fields: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.fields = {place: list(said) for place, said in (fields or {}).items()}
        self.retry_after_s: float | None = None
        self.path = ""  # what was asked for

    def as_dict(self) -> dict[str, Any]:
        return {"status": self.status, "code": self.code, "message": self.message, "fields": self.fields}


class InvalidRequest(ApiError):
    pass


class Unauthenticated(ApiError):
    pass


class Forbidden(ApiError):
    pass


class NotFound(ApiError):
    pass


class Conflict(ApiError):
    pass


class Throttled(ApiError):
    retry = True


class ServerError(ApiError):
    retry = True


_BY_STATUS: dict[int, type[ApiError]] = {
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    429: Throttled,
}


def error_of(response: httpx.Response) -> HydraError:
    """The error that a refusing `response` (already read) stands for."""
    kind = _BY_STATUS.get(
        response.status_code, ServerError if response.status_code >= 500 else InvalidRequest
    )
    try:
        body = response.json()
        code, message = str(body["code"]), str(body["message"])
        fields = {
            str(place): [str(one) for one in said] for place, said in (body.get("fields") or {}).items()
        }
    except (ValueError, TypeError, KeyError, AttributeError):
        if kind is not ServerError:
            return UnexpectedAnswer(
                str(response.url), response.status_code, "not in the API's form of an error"
            )
        code, message, fields = (
            "unavailable",
            f"The server answered {response.status_code}; try again later.",
            {},
        )
    error = kind(response.status_code, code, message, fields)
    error.path = response.url.path if _has_request(response) else ""
    error.retry_after_s = _seconds(response.headers.get("Retry-After", ""))
    return error


def _has_request(response: httpx.Response) -> bool:
    try:
        return bool(response.request)
    except RuntimeError:
        return False


def _seconds(header: str) -> float | None:
    """Retry-After in seconds; its date form is not used by this API."""
    return float(header) if header.isdecimal() else None
