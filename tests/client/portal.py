"""A scripted portal: answers in order or by path, and remembers what it was asked. Waiting is noted, not done."""

import json
from collections.abc import Callable

import httpx

from client import Hydra, Patience

URL = "https://portal.example"
Answer = httpx.Response | Exception
Handler = Callable[[httpx.Request], Answer]


def answer(body: object = None, status: int = 200, **headers: str) -> httpx.Response:
    return httpx.Response(status, json={} if body is None else body, headers=headers)


def refusal(status: int, code: str, message: str = "No.", **extra: object) -> httpx.Response:
    return httpx.Response(status, json={"code": code, "message": message, **extra})


class Portal:
    """`handle`: a function of the request, or a list of answers; an exception in it is raised as the network's."""

    def __init__(self, handle: Handler | list[Answer], *, tries: int = 5) -> None:
        self._handle, self._script = (None, list(handle)) if isinstance(handle, list) else (handle, [])
        self.requests: list[httpx.Request] = []
        self.waits: list[float] = []
        self.patience = Patience(tries=tries, sleep=self.waits.append, chance=lambda: 1.0)
        self.hydra = Hydra(URL, "hyd_secret", patience=self.patience, http=httpx.MockTransport(self._serve))

    def _serve(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        result = self._handle(request) if self._handle else self._script.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    @property
    def keys(self) -> list[str | None]:
        return [request.headers.get("Idempotency-Key") for request in self.requests]

    def body(self, index: int = -1) -> object:
        return json.loads(self.requests[index].content)
