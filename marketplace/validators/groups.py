"""Declared groups counted against their target shares: shared by coverage, association and marginal.

Groups are what contributors declare; nothing is inferred from content. What is not declared is "unknown" and shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from marketplace.validators.finding import BAD, OK, SUSPECT, Outcome

MIN_CELL = 30  # people or items in a group: below it shares swing by ±18 points and figures mislead
UNKNOWN_GROUP = "unknown"
Declared = Sequence[Mapping[str, Any]]  # Campaign.attributes: {"name", "values", "targets": {value: share}}


def targets(attribute: Mapping[str, Any]) -> dict[str, float]:
    """Target shares summing to 1; equal shares where the campaign names values only."""
    given = {str(k): float(v) for k, v in (attribute.get("targets") or {}).items() if float(v) >= 0}
    total = sum(given.values())
    if total > 0:
        return {value: share / total for value, share in given.items()}
    values = [str(v) for v in attribute.get("values") or ()]
    return {value: 1 / len(values) for value in values}


def counts(items: Sequence[Mapping[str, Any]], name: str, known: Mapping[str, float]) -> Counter[str]:
    """How many items declare each group; a value outside the declared ones counts as unknown."""
    found: Counter[str] = Counter()
    for item in items:
        value = item.get(name)
        found[str(value) if value is not None and str(value) in known else UNKNOWN_GROUP] += 1
    return found


def distance(found: Mapping[str, int], wanted: Mapping[str, float]) -> float:
    """Half the summed difference of shares, in [0, 1]: the part of the items that would have to move to another
    group. Unknown ones are left out. (Total variation distance.)"""
    total = sum(found.get(value, 0) for value in wanted)
    if not total:
        return 1.0
    return sum(abs(found.get(value, 0) / total - share) for value, share in wanted.items()) / 2


def grade(value: float, ok: float, bad: float) -> Outcome:
    return OK if value <= ok else SUSPECT if value <= bad else BAD
