"""Time as an argument: the real clock, and one that tests move by hand. Nothing else in trainer asks for the time."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def wall(self) -> float:
        """Seconds since the epoch, for what other machines compare (time windows, expiry)."""

    def monotonic(self) -> float:
        """Seconds that never jump, for durations and deadlines on this machine."""


class SystemClock:
    def wall(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


class ManualClock:
    """A clock that stands still until `advance` moves it."""

    def __init__(self, wall: float = 1_800_000_000.0) -> None:
        self._wall, self._monotonic = wall, 0.0

    def wall(self) -> float:
        return self._wall

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        self._wall += seconds
        self._monotonic += seconds


def iso(wall: float) -> str:
    """ISO 8601 in UTC, to the millisecond, as the market's API takes it."""
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
