"""One HTTP connection pool to one portal: retries where they are safe, pages, and the API's errors as ours."""

import random
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from client.errors import ConfigurationError, HydraError, UnexpectedAnswer, Unreachable, error_of

PREFIX = "/api/v1"
RETRIED = frozenset({429, 502, 503, 504})
LONGEST_WAIT_S = 30.0  # beyond that a person should decide, not a loop
JSON = dict[str, Any]


@dataclass(frozen=True)
class Patience:
    """How often and how long to try. `sleep` and `chance` are arguments so that tests need not wait."""

    tries: int = 5
    first_wait_s: float = 0.5
    timeout_s: float = 60.0
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = field(default=random.random)

    def wait_s(self, attempt: int, asked_s: float | None) -> float:
        """Doubling with jitter (half to all of it), or what the server asked for; at most half a minute."""
        if asked_s is not None:
            return min(asked_s, LONGEST_WAIT_S)
        return min(self.first_wait_s * 2**attempt, LONGEST_WAIT_S) * (0.5 + self.chance() / 2)


@dataclass(frozen=True)
class Call:
    """One request. `body` makes its arguments for httpx anew for every try, since a sent file is at its end."""

    method: str
    path: str
    params: Mapping[str, Any] | None = None
    body: Callable[[], Mapping[str, Any]] | None = None
    key: str | None = None

    @property
    def is_repeatable(self) -> bool:
        """Whether sending it twice has the effect of once: by its method, or by its Idempotency-Key."""
        return self.method == "GET" or self.key is not None


def new_key() -> str:
    return uuid.uuid4().hex


class Transport:
    """`http` replaces the connection (tests); a token may be absent for what is public."""

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        patience: Patience | None = None,
        http: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = checked_url(url)
        self.patience = patience or Patience()
        headers = {"Accept": "application/json", "User-Agent": "hydra-client"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx.Client(
            base_url=self.url + PREFIX, headers=headers, timeout=self.patience.timeout_s, transport=http
        )

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, **params: Any) -> JSON:
        return self._json(Call("GET", path, _present(params)))

    def post(self, path: str, body: Mapping[str, Any] | None = None, *, key: str | None = None) -> JSON:
        """With an Idempotency-Key, so that it is done once however often it must be sent."""
        return self._json(Call("POST", path, body=lambda: {"json": body or {}}, key=key or new_key()))

    def post_once(self, path: str, body: Mapping[str, Any] | None = None) -> JSON:
        """For doors that hand out secrets and keep no answers: never sent twice after the server may have seen it."""
        return self._json(Call("POST", path, body=lambda: {"json": body or {}}))

    def patch(self, path: str, body: Mapping[str, Any]) -> JSON:
        return self._json(Call("PATCH", path, body=lambda: {"json": body}))

    def post_form(self, path: str, form: Callable[[], Mapping[str, Any]], *, key: str) -> JSON:
        """`form` opens the files and returns httpx's arguments; whoever calls closes them."""
        return self._json(Call("POST", path, body=form, key=key))

    def pages(self, path: str, **params: Any) -> Iterator[JSON]:
        """All rows of a list, page after page.

        Only the query of `next` is used, against our own address: a server behind a proxy may not know its name, and
        a token must not follow a link elsewhere.
        """
        query: Mapping[str, Any] = _present(params)
        while True:
            page = self._json(Call("GET", path, query))
            rows = page.get("results")
            if not isinstance(rows, list):
                raise UnexpectedAnswer(self.url + PREFIX + path, 200, "its list has no results")
            yield from rows
            if not page.get("next"):
                return
            query = dict(httpx.URL(page["next"]).params)

    @contextmanager
    def stream(self, path: str, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        """One try at a download; the caller resumes. Raises: ApiError, Unreachable."""
        try:
            with self._http.stream("GET", path.lstrip("/"), headers=dict(headers)) as response:
                if response.status_code >= 400 and response.status_code != 416:
                    response.read()
                    raise error_of(response)
                yield response
        except httpx.TransportError as exc:
            raise Unreachable(self.url, _why(exc)) from exc

    def _json(self, call: Call) -> JSON:
        response = self._send(call)
        if response.status_code == 204 or not response.content:
            return {}
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise UnexpectedAnswer(str(response.url), response.status_code, "not with a JSON object")
        return answer

    def _send(self, call: Call) -> httpx.Response:
        for attempt in range(self.patience.tries):
            error, may_repeat = self._try(call)
            if isinstance(error, httpx.Response):
                return error
            if not may_repeat or attempt + 1 == self.patience.tries:
                raise error
            self.patience.sleep(self.patience.wait_s(attempt, getattr(error, "retry_after_s", None)))
        raise AssertionError("Patience.tries must be at least 1")

    def _try(self, call: Call) -> tuple[httpx.Response | HydraError, bool]:
        """The answer, or the error and whether another try is safe and may help."""
        headers = {"Idempotency-Key": call.key} if call.key else {}
        body = call.body() if call.body else {}
        try:
            response = self._http.request(
                call.method, call.path.lstrip("/"), params=call.params, headers=headers, **body
            )
        except (httpx.ConnectError, httpx.ConnectTimeout) as exc:
            return Unreachable(self.url, _why(exc)), True  # nothing was sent
        except httpx.TransportError as exc:
            return Unreachable(self.url, _why(exc)), call.is_repeatable
        if response.is_success:
            return response, False
        if response.is_redirect:
            where = response.headers.get("Location", "elsewhere")
            return UnexpectedAnswer(str(response.url), response.status_code, f"it sends us to {where}"), False
        error = error_of(response)
        is_passing = response.status_code in RETRIED or getattr(error, "code", "") == "in_progress"
        return error, is_passing and (call.is_repeatable or response.status_code == 429)


def checked_url(url: str) -> str:
    """`url` without a trailing slash or /api/v1. Raises: ConfigurationError."""
    try:
        parsed = httpx.URL(url.strip().rstrip("/").removesuffix(PREFIX))
    except httpx.InvalidURL as exc:
        raise ConfigurationError(f"{url!r} is not an address ({exc}).") from exc
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise ConfigurationError(
            f"{url!r} is not an address: write it as https://portal.example or http://localhost:8000."
        )
    return str(parsed).rstrip("/")


def _present(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None and value != ""}


def _why(exc: Exception) -> str:
    return str(exc) or type(exc).__name__
