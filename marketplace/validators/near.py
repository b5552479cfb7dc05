"""What a search for near-duplicates answers; shared by pictures and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Near:
    """The most alike known record. Units: similarity and threshold in [0, 1]; `detail` in words."""

    key: str
    similarity: float
    threshold: float
    detail: str = ""


class NearSearch(Protocol):
    """Keeps sketches by key and finds the nearest one to each of a batch, or None where nothing is near."""

    def add(self, key: str, sketch: Mapping[str, Any]) -> None: ...

    def nearest(self, sketches: Sequence[Mapping[str, Any]]) -> list[Near | None]: ...

    def nearest_in_turn(
        self, keys: Sequence[str], sketches: Sequence[Mapping[str, Any]]
    ) -> list[Near | None]:
        """As `nearest`, but each also against those before it, as if they had been added one by one."""
        ...
