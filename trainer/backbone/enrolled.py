"""Which peers the market has enrolled, kept on disk so that the network goes on while the market is away."""

import asyncio
import json
import threading
from contextlib import suppress
from pathlib import Path

from trainer.config import write_private
from trainer.errors import MarketError
from trainer.market.api import Market


class Enrolled:
    """Everything but `knows` may block on the market."""

    def __init__(self, home: Path, market: Market) -> None:
        self._path, self._market, self._lock = home / "enrolled.json", market, threading.Lock()
        self._active: set[str] = set()
        self._cursor = 0
        with suppress(OSError, ValueError, KeyError, TypeError):
            saved = json.loads(self._path.read_text())
            self._active, self._cursor = set(saved["active"]), int(saved["cursor"])

    def knows(self, peer_id: str) -> bool:
        return peer_id in self._active

    async def is_active(self, peer_id: str) -> bool:
        """Asks the market again before it says no: the peer may have enrolled a moment ago."""
        if not self.knows(peer_id):
            with suppress(MarketError):
                await asyncio.to_thread(self.refresh)
        return self.knows(peer_id)

    def refresh(self) -> None:
        """Raises MarketError."""
        with self._lock:
            changed, cursor = self._market.fetch_enrolments(self._cursor)
            if not changed:
                return
            for entry in changed:
                if entry["active"]:
                    self._active.add(entry["peer_id"])
                else:
                    self._active.discard(entry["peer_id"])
            self._cursor = cursor
            write_private(self._path, json.dumps({"active": sorted(self._active), "cursor": cursor}))
