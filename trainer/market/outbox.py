"""What the backbone has to tell the market, on disk until the market has it: training never waits for the market.

One ordered queue: a job's start goes before its rounds, its rounds before its end. An entry that the market refuses
for good is moved to `refused/`, where an operator can read why, and the queue goes on.
"""

import json
import logging
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.errors import MarketRefused, MarketUnreachable
from trainer.market.api import Market

log = logging.getLogger("hydra.backbone")


@dataclass(frozen=True)
class Entry:
    """A post. `file`: the name, in the outbox, of a file to send along as multipart."""

    path: str
    body: dict[str, Any]
    file: str | None = None


class Outbox:
    def __init__(self, folder: Path) -> None:
        self.folder, self._refused = folder, folder / "refused"
        self._refused.mkdir(parents=True, exist_ok=True)
        names = [int(path.stem) for path in folder.glob("*.json")]
        self._next = max(names, default=0) + 1
        self._sending, self._numbering = threading.Lock(), threading.Lock()

    def put(self, path: str, body: dict[str, Any], content: bytes | None = None) -> None:
        """Durable when it returns."""
        with self._numbering:
            number, self._next = self._next, self._next + 1
        file = None
        if content is not None:
            file = f"{number:010d}.bin"
            write_durably(self.folder / file, content)
        entry = {"path": path, "body": body, "file": file}
        write_durably(self.folder / f"{number:010d}.json", json.dumps(entry).encode())

    def waiting(self) -> list[Path]:
        return sorted(self.folder.glob("*.json"))

    def send_all(self, market: Market) -> int:
        """Sends in order until the queue is empty or the market is away. Returns how many it has taken."""
        with self._sending:
            return self._send_all(market)

    def _send_all(self, market: Market) -> int:
        sent = 0
        for path in self.waiting():
            entry = Entry(**json.loads(path.read_text()))
            try:
                self._send(market, entry)
            except MarketUnreachable as error:
                log.warning("%s; %d posts wait", error, len(self.waiting()))
                return sent
            except MarketRefused as error:
                if error.status in (401, 403):  # our token is at fault, not the entry
                    log.error(
                        "%s; give the backbone a valid token, %d posts wait", error, len(self.waiting())
                    )
                    return sent
                log.error("%s; kept in %s", error, self._refused)
                self._keep(path, entry, str(error))
                continue
            self._remove(path, entry)
            sent += 1
        return sent

    def _send(self, market: Market, entry: Entry) -> None:
        if entry.file is None:
            market.post(entry.path, entry.body)
        else:
            fields = {
                name: value if isinstance(value, str) else json.dumps(value)
                for name, value in entry.body.items()
            }
            market.post_file(entry.path, self.folder / entry.file, fields)

    def _remove(self, path: Path, entry: Entry) -> None:
        path.unlink()
        if entry.file:
            (self.folder / entry.file).unlink(missing_ok=True)

    def _keep(self, path: Path, entry: Entry, why: str) -> None:
        (self._refused / path.name).write_text(json.dumps({**json.loads(path.read_text()), "why": why}))
        if entry.file:
            (self.folder / entry.file).replace(self._refused / entry.file)
        path.unlink()


def write_durably(path: Path, data: bytes) -> None:
    """All of it or what was there before, even through a power cut: written beside, forced to disk, renamed."""
    beside = path.with_name(f".{path.name}.new")
    with beside.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    beside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
