"""The client of the market's HTTP API: the doors that volunteers and the backbone use, retried with back-off.

Blocking; the event loop calls it through threads. Every post may be repeated: the market knows what it has.
"""

import hashlib
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from trainer.errors import BadMessage, MarketRefused, MarketUnreachable, ReleaseInvalid
from trainer.wire.files import PieceFile
from trainer.wire.messages import Address

PREFIX = "/api/v1"
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})  # worth another try
TRIES = 4
CHUNK = 2**20


@dataclass(frozen=True)
class Enrolment:
    peer_id: str
    token: str


@dataclass
class Market:
    """`sleep` and `chance` are arguments so that tests wait for nothing. `tries`: attempts for one call."""

    url: str
    token: str = ""
    tries: int = TRIES
    timeout_s: float = 10.0
    sleep: Callable[[float], None] = time.sleep
    chance: random.Random = field(default_factory=random.Random)
    transport: httpx.BaseTransport | None = None

    def __post_init__(self) -> None:
        self.url = self.url.rstrip("/")
        self._client = httpx.Client(timeout=self.timeout_s, transport=self.transport)

    def close(self) -> None:
        self._client.close()

    # volunteers

    def enrol(self, code: str, public_key: str, name: str) -> Enrolment:
        """Raises MarketRefused when the code is wrong, used or has run out."""
        answer = self.post("/network/enrol", {"code": code, "public_key": public_key, "name": name})
        return Enrolment(answer["peer_id"], answer["token"])

    def fetch_backbones(self) -> list[Address]:
        """Newest first; what is not an address is left out."""
        found = []
        for entry in self.get("/network/backbones")["results"]:
            try:
                found.append(Address(peer_id=entry["peer_id"], host=entry["host"], port=entry["port"]))
            except (BadMessage, KeyError, TypeError):
                continue
        return found

    # the backbone

    def announce(self, address: Address, public_key: str) -> None:
        self.post("/network/backbones", {**address.to_dict(), "public_key": public_key})

    def fetch_enrolments(self, since: int) -> tuple[list[dict[str, Any]], int]:
        """Peers enrolled or changed since the cursor, and the next cursor."""
        found: list[dict[str, Any]] = []
        while True:
            answer = self.get(f"/network/enrolments?since={since}")
            found += answer["results"]
            cursor = int(answer.get("cursor") or since)
            if not answer["results"] or cursor == since:
                return found, cursor
            since = cursor

    def fetch_jobs(self) -> list[dict[str, Any]]:
        return self.get("/network/jobs")["results"]

    def fetch_manifest(self, release: str) -> bytes:
        """The manifest's own bytes, whose hash the release is known by."""
        return self._retry(lambda: self._ask("GET", f"/releases/{release}/manifest").content)

    def fetch_release_file(self, release: str, file: PieceFile, folder: Path) -> Path:
        """Into `folder`, verified by its hash; kept when it is there already. Raises ReleaseInvalid, MarketError."""
        path = folder / file.name
        if path.exists() and _sha256(path) == file.sha256:
            return path
        folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{file.name}.partial")
        self._retry(lambda: self._download(f"/releases/{release}/files/{file.name}", partial))
        if _sha256(partial) != file.sha256:
            partial.unlink()
            raise ReleaseInvalid(release, f"{file.name} is not the file that the manifest names")
        partial.replace(path)
        return path

    # one call

    def get(self, path: str) -> Any:
        return self._retry(lambda: self._call("GET", path))

    def post(self, path: str, body: Any) -> Any:
        return self._retry(lambda: self._call("POST", path, json=body))

    def post_file(self, path: str, file: Path, fields: dict[str, str]) -> Any:
        def send() -> Any:
            with file.open("rb") as stream:
                return self._call("POST", path, data=fields, files={"file": (file.name, stream)}, timeout=120)

        return self._retry(send)

    def _retry(self, call: Callable[[], Any]) -> Any:
        for attempt in range(self.tries):
            try:
                return call()
            except MarketUnreachable:
                if attempt + 1 == self.tries:
                    raise
                self.sleep(0.2 * 2**attempt * (0.5 + self.chance.random()))
        raise AssertionError("tries is at least one")

    def _ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            answer = self._client.request(
                method, self.url + PREFIX + path, headers=self._headers(), **options
            )
        except httpx.HTTPError as error:
            raise MarketUnreachable(self.url, f"{type(error).__name__}: {error}") from error
        self._check(path, answer)
        return answer

    def _call(self, method: str, path: str, **options: Any) -> Any:
        answer = self._ask(method, path, **options)
        try:
            return answer.json() if answer.content else None
        except ValueError as error:
            raise MarketUnreachable(self.url, f"{path} did not answer with JSON") from error

    def _download(self, path: str, to: Path) -> None:
        try:
            with self._client.stream("GET", self.url + PREFIX + path, headers=self._headers()) as answer:
                if answer.status_code != 200:
                    answer.read()
                    self._check(path, answer)
                with to.open("wb") as stream:
                    for chunk in answer.iter_bytes(CHUNK):
                        stream.write(chunk)
                    os.fsync(stream.fileno())
        except httpx.HTTPError as error:
            raise MarketUnreachable(self.url, f"{type(error).__name__}: {error}") from error

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def _check(self, path: str, answer: httpx.Response) -> None:
        if answer.status_code in PASSING:
            raise MarketUnreachable(self.url, f"{path} answered {answer.status_code}")
        if answer.is_success:
            return
        try:
            body = answer.json()
            code, message = str(body.get("code", "")), _in_words(body)
        except (ValueError, AttributeError):
            code, message = "", answer.text[:200]
        raise MarketRefused(path, answer.status_code, code, message)


def _in_words(body: dict[str, Any]) -> str:
    """The refusal's message, and what its fields say beside it.

    >>> _in_words({"message": "code: It was used.", "fields": {"code": ["It was used."], "name": ["Too long."]}})
    'It was used. name: Too long.'
    """
    message = str(body.get("message", ""))
    fields = {str(place): " ".join(map(str, said)) for place, said in (body.get("fields") or {}).items()}
    for place, said in fields.items():
        if message == f"{place}: {said}" or message == said:
            message = said
        elif said not in message:
            message += f" {place}: {said}"
    return message.strip()


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
