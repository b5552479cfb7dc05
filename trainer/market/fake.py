"""A market in one process, over real HTTP: the doors that peers use, kept in memory. For tests and trying out.

It checks what the real one checks of rounds: signatures, tiling, one record a step, only while the job runs. `away`
makes it answer 503 to everything.
"""

import email.parser
import email.policy
import json
import re
import secrets
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from trainer.errors import WireError
from trainer.wire.records import RoundRecord, verify_record
from trainer.wire.signing import peer_id_of

PREFIX = "/api/v1"


@dataclass
class FakeJob:
    """`listing`: what the backbone is shown. `calls`: the names of the posts about it, in order of arrival."""

    listing: dict[str, Any]
    rounds: dict[int, RoundRecord] = field(default_factory=dict)
    points: dict[int, dict[str, Any]] = field(default_factory=dict)
    checkpoint: bytes = b""
    outcome: dict[str, Any] | None = None
    calls: list[str] = field(default_factory=list)
    repeated: int = 0


class Refusal(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class FakeMarket:
    """`with FakeMarket(releases) as market:` serves at `market.url`. `releases`: release id → its folder."""

    def __init__(self, releases: dict[str, Path]) -> None:
        self.releases, self.jobs = releases, {}  # type: dict[str, Path], dict[str, FakeJob]
        self.codes: set[str] = set()
        self.peers: list[dict[str, Any]] = []
        self.presence: dict[str, dict[str, Any]] = {}
        self.backbones: list[dict[str, Any]] = []
        self.away = False
        self.backbone_token = "hyd_" + secrets.token_hex(8)
        self._lock = threading.RLock()

    def __enter__(self) -> "FakeMarket":
        market = self

        class Handler(_Handler):
            fake = market

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    # what a test does

    def issue_code(self) -> str:
        code = secrets.token_hex(4)
        self.codes.add(code)
        return code

    def add_job(
        self, job: str, release: str, recipe: str, parameters: dict[str, Any], sample_limit: int
    ) -> FakeJob:
        listing = {
            "id": job, "release": release, "recipe": recipe, "recipe_version": "1", "parameters": parameters,
            "strategy": "sync", "sample_limit": sample_limit, "checkpoint": None, "state": "ready", "step": 0,
        }  # fmt: skip
        self.jobs[job] = FakeJob(listing)
        return self.jobs[job]

    def deactivate(self, peer_id: str) -> None:
        found = next(peer for peer in self.peers if peer["peer_id"] == peer_id)
        self.peers.append({**found, "active": False})

    # what peers ask

    def answer(self, method: str, path: str, token: str, body: bytes, kind: str) -> Any:
        """JSON to answer with, or bytes. Raises Refusal."""
        with self._lock:
            if self.away:
                raise Refusal(503, "away", "The market is away.")
            if (method, path) == ("POST", "/network/enrol"):
                return self._enrol(json.loads(body))
            if not token.startswith("hyd_"):
                raise Refusal(401, "unauthenticated", "Give a token.")
            if match := re.fullmatch(r"/releases/([^/]+)/(manifest|files/([^/]+))", path):
                return self._release_file(match[1], match[3] or "manifest.json", token)
            if (method, path) == ("GET", "/network/backbones"):
                return {"results": self.backbones[::-1], "next": None}
            if token != self.backbone_token:
                raise Refusal(403, "scope", "Only for the backbone.")
            return self._backbone(method, path, body, kind)

    def _enrol(self, asked: dict[str, Any]) -> dict[str, Any]:
        if asked["code"] not in self.codes:
            raise Refusal(400, "invalid", "This code is not valid, or was used.")
        self.codes.remove(asked["code"])
        peer_id = peer_id_of(asked["public_key"])
        self.peers.append(
            {"peer_id": peer_id, "public_key": asked["public_key"], "name": asked["name"], "active": True}
        )
        return {"peer_id": peer_id, "token": "hyd_" + secrets.token_hex(8), "backbones": self.backbones}

    def _release_file(self, release: str, name: str, token: str) -> bytes:
        path = self.releases.get(release, Path("/nowhere")) / name
        if not path.exists() or token != self.backbone_token:
            raise Refusal(404, "not_found", "There is no such file.")
        return path.read_bytes()

    def _backbone(self, method: str, path: str, body: bytes, kind: str) -> Any:
        if (method, path) == ("POST", "/network/backbones"):
            self.backbones = [
                entry for entry in self.backbones if entry["peer_id"] != json.loads(body)["peer_id"]
            ]
            self.backbones.append(json.loads(body))
            return {}
        if (method, path) == ("POST", "/network/presence"):
            for peer in json.loads(body)["peers"]:
                self.presence[peer["peer_id"]] = peer
            return {"known": len(self.presence)}
        if method == "GET" and path.startswith("/network/enrolments?since="):
            since = int(path.partition("=")[2])
            return {"results": self.peers[since:], "next": None, "cursor": len(self.peers)}
        if (method, path) == ("GET", "/network/jobs"):
            open_jobs = [
                job.listing for job in self.jobs.values() if job.listing["state"] in ("ready", "running")
            ]
            return {"results": open_jobs, "next": None}
        match = re.fullmatch(r"/network/jobs/([^/]+)/(start|rounds|metrics|checkpoint|finish)", path)
        if match is None or match[1] not in self.jobs:
            raise Refusal(404, "not_found", "There is no such door.")
        job = self.jobs[match[1]]
        job.calls.append(match[2])
        fields = _read_form(kind, body) if match[2] == "checkpoint" else json.loads(body)
        return getattr(self, f"_{match[2]}")(job, fields)

    def _start(self, job: FakeJob, _: Any) -> dict[str, Any]:
        if job.listing["state"] == "ready":
            job.listing["state"] = "running"
        return job.listing

    def _rounds(self, job: FakeJob, body: dict[str, Any]) -> dict[str, Any]:
        keys = {peer["peer_id"]: peer["public_key"] for peer in self.peers if peer["active"]}
        if job.listing["state"] != "running":
            raise Refusal(409, "wrong_state", "The job does not run; it takes no rounds.")
        try:
            records = [RoundRecord.from_dict(entry) for entry in body["records"]]
            for record in records:
                verify_record(record, keys)
        except WireError as error:
            raise Refusal(400, "invalid", str(error)) from error
        fresh = [record for record in records if record.step not in job.rounds]
        job.rounds |= {record.step: record for record in fresh}
        job.repeated += len(records) - len(fresh)
        return {"recorded": len(fresh), "repeated": len(records) - len(fresh)}

    def _metrics(self, job: FakeJob, body: dict[str, Any]) -> dict[str, Any]:
        job.points |= {point["step"]: point for point in body["points"]}
        return {"recorded": len(body["points"])}

    def _checkpoint(self, job: FakeJob, fields: dict[str, bytes]) -> dict[str, Any]:
        job.checkpoint = fields["file"]
        return {"step": int(fields["step"]), "metrics": json.loads(fields["metrics"])}

    def _finish(self, job: FakeJob, body: dict[str, Any]) -> dict[str, Any]:
        job.outcome, job.listing["state"] = body, body["outcome"]
        return job.listing


def _read_form(kind: str, body: bytes) -> dict[str, bytes]:
    """The parts of a multipart form by name."""
    head = b"Content-Type: " + kind.encode() + b"\r\n\r\n"
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    fields: dict[str, bytes] = {}
    for part in message.iter_parts():  # type: ignore[attr-defined]
        name = re.search(r'\bname="([^"]+)"', part["Content-Disposition"])
        if name is not None:
            fields[name[1]] = bytes(part.get_payload(decode=True))
    return fields


class _Handler(BaseHTTPRequestHandler):
    fake: FakeMarket
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._serve("GET", b"")

    def do_POST(self) -> None:
        self._serve("POST", self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def log_message(self, *_: Any) -> None:
        """Says nothing."""

    def _serve(self, method: str, body: bytes) -> None:
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        path = self.path.removeprefix(PREFIX)
        try:
            status, answer = (
                200,
                self.fake.answer(method, path, token, body, self.headers.get("Content-Type", "")),
            )
        except Refusal as refusal:
            status, answer = refusal.status, {"code": refusal.code, "message": refusal.message}
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
