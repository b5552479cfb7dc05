"""The demo's people: each acts through HTTP with a token of their own, as any program of a user would."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

PASSWORD = "demo-password-only"
HYD = 10**9
AWAY_S = 60  # how long the portal may be away before a request is given up
T = TypeVar("T")


class Refused(RuntimeError):
    """The API said no. `code` and `message` are its own words."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status, self.code, self.message = status, code, message
        super().__init__(f"{status} {code}: {message}")


class TookTooLong(RuntimeError):
    """Something that should happen by itself did not happen in time."""


@dataclass
class Person:
    """An account and its connection. `submissions` remembers the ids of what they sent, by campaign."""

    name: str
    email: str
    http: httpx.Client
    submissions: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def join(cls, url: str, name: str, scopes: tuple[str, ...] = ("read", "write")) -> "Person":
        """Registers (an account that is already there is fine) and takes a token."""
        email = f"{name}@demo.example"
        client = httpx.Client(base_url=f"{url}/api/v1/", timeout=120)
        person = cls(name, email, client)
        try:
            person.post("auth/register", {"email": email, "password": PASSWORD})
        except Refused as refusal:
            if refusal.status not in {400, 409}:
                raise
        person.take_token(scopes)
        return person

    def take_token(self, scopes: tuple[str, ...]) -> None:
        body = {"email": self.email, "password": PASSWORD, "name": "demo", "scopes": list(scopes)}
        answer = self.post("auth/token", body)
        self.http.headers["Authorization"] = f"Bearer {answer['token']}"

    def get(self, path: str, **query: Any) -> Any:
        return read(self.send("GET", path, params=query))

    def post(self, path: str, body: Mapping[str, Any] | None = None, *, key: str = "") -> Any:
        """`key`: the request may be sent again after a fault, and counts once."""
        return read(self.send("POST", path, json=body or {}, headers=keyed(key)))

    def send(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Sends again what may be sent twice while the portal is away (being started again, for instance)."""
        is_repeatable = method == "GET" or bool(request.get("headers"))
        deadline = time.monotonic() + AWAY_S
        while True:
            try:
                answer = self.http.request(method, path, **request)
                if answer.status_code not in {502, 503} or time.monotonic() > deadline:
                    return answer
            except httpx.TransportError:
                if not is_repeatable or time.monotonic() > deadline:
                    raise
            time.sleep(0.3)

    def each(self, path: str, **query: Any) -> Iterator[Any]:
        """Walks all pages of a list."""
        page = self.get(path, **query)
        while True:
            yield from page["results"]
            if not page.get("next"):
                return
            page = read(self.send("GET", page["next"]))

    def bytes_of(self, path: str) -> bytes:
        answer = self.send("GET", path)
        if answer.is_error:
            read(answer)
        return answer.content

    def contribute(self, campaign: str, files: list[tuple[str, bytes, str]]) -> str:
        """Sends (name, bytes, label or "") as one submission and completes it. Returns its id."""
        consent = self.get(f"campaigns/{campaign}")["consent_version"]
        key = f"{campaign}-{len(self.submissions.get(campaign, []))}"
        submission = self.post(f"campaigns/{campaign}/submissions", {"consent_version": consent}, key=key)[
            "id"
        ]
        for name, content, label in files:
            form = {"label": label} if label else {}
            headers = keyed(f"{submission}-{name}")
            read(
                self.send(
                    "POST",
                    f"submissions/{submission}/files",
                    files={"file": (name, content)},
                    data=form,
                    headers=headers,
                )
            )
        self.post(f"submissions/{submission}/complete", key=f"{submission}-complete")
        self.submissions.setdefault(campaign, []).append(submission)
        return submission

    def counts(self, submission: str) -> dict[str, int]:
        return self.get(f"submissions/{submission}")["counts"]

    def items(self, campaign: str) -> list[dict[str, Any]]:
        return [
            item
            for one in self.submissions.get(campaign, [])
            for item in self.each(f"submissions/{one}/items")
        ]

    def balance(self) -> dict[str, int]:
        return {name: money["nano"] for name, money in self.get("rewards/balance").items()}


def keyed(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key} if key else {}


def read(answer: httpx.Response) -> Any:
    """The answer's JSON. Raises Refused with the API's own words."""
    if answer.is_success:
        return answer.json() if answer.content else {}
    try:
        body = answer.json()
        raise Refused(
            answer.status_code, body["code"], f"{body['message']} {body.get('fields') or ''}".strip()
        )
    except (ValueError, KeyError, TypeError):
        raise Refused(answer.status_code, "unreadable", answer.text[:200]) from None


def wait_for(what: str, ask: Callable[[], T | None], *, limit_s: float = 120, pause_s: float = 0.3) -> T:
    """Asks until the answer is not None. Raises TookTooLong."""
    deadline = time.monotonic() + limit_s
    while (answer := ask()) is None:
        if time.monotonic() > deadline:
            raise TookTooLong(
                f"{what} did not happen within {limit_s:.0f} s; the logs of the stack may say why"
            )
        time.sleep(pause_s)
    return answer


def hyd(nano: int) -> str:
    return f"{nano / HYD:,.2f}"
