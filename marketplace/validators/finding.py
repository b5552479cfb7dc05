"""What every validator returns: a Finding in plain words with its number, and who found it.

No storage here: the marketplace turns a Finding into an Evidence row. "not_enough_evidence" is an answer,
not an error, and never a reason to reject.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Outcome = Literal["ok", "suspect", "bad", "not_enough_evidence"]
Direction = Literal["quality", "bias", "safety"]

OK: Outcome = "ok"
SUSPECT: Outcome = "suspect"
BAD: Outcome = "bad"
UNKNOWN: Outcome = "not_enough_evidence"


@dataclass(frozen=True)
class Finding:
    """One answer about one item (or one submission, or one campaign).

    Units: `score` in [0, 1], 1 = good; None where there is not enough evidence. `data` is plain JSON.
    `bad` may be acted on by a policy; `suspect` goes to a person; `reasons` are sentences for that person.
    """

    validator: str
    version: str
    seed: int
    outcome: Outcome
    score: float | None
    direction: Direction = "quality"
    reasons: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ValidatorInfo:
    """Who speaks: enough for a stranger to run the same check again and compare."""

    name: str
    version: str
    seed: int = 0
    direction: Direction = "quality"

    def finding(
        self,
        outcome: Outcome,
        score: float | None,
        *reasons: str,
        data: Mapping[str, Any] | None = None,
    ) -> Finding:
        """A Finding signed with this validator's name; the score is rounded so that JSON is stable."""
        rounded = None if score is None else round(min(1.0, max(0.0, float(score))), 6)
        return Finding(
            self.name,
            self.version,
            self.seed,
            outcome,
            rounded,
            self.direction,
            tuple(reasons),
            dict(data or {}),
        )

    def ok(self, score: float = 1.0, *reasons: str, data: Mapping[str, Any] | None = None) -> Finding:
        return self.finding(OK, score, *reasons, data=data)

    def unknown(self, *reasons: str, data: Mapping[str, Any] | None = None) -> Finding:
        """Not enough evidence, with the reason why."""
        return self.finding(UNKNOWN, None, *reasons, data=data)
