"""Coverage: do the declared groups appear in the shares the campaign asks for? One finding per attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from marketplace.validators.finding import Finding, ValidatorInfo
from marketplace.validators.groups import MIN_CELL, UNKNOWN_GROUP, Declared, counts, distance, grade, targets
from marketplace.validators.intervals import wilson

VALIDATOR = ValidatorInfo("coverage", "1", direction="bias")
FINE, FAR = 0.10, 0.30  # share of the items in the wrong group
MOSTLY_UNKNOWN = 0.5


def inspect(items: Sequence[Mapping[str, Any]], declared: Declared) -> list[Finding]:
    """Items are attribute mappings. `data`: counts, shares with intervals, targets, unknown, distance."""
    return [_inspect(items, attribute) for attribute in declared]


def _inspect(items: Sequence[Mapping[str, Any]], attribute: Mapping[str, Any]) -> Finding:
    name, wanted = str(attribute["name"]), targets(attribute)
    found = counts(items, name, wanted)
    total = sum(found[value] for value in wanted)
    unknown = found[UNKNOWN_GROUP]
    data = {
        "attribute": name,
        "total": len(items),
        "unknown": unknown,
        "groups": {
            value: {
                "count": found[value],
                "share": round(found[value] / total, 4) if total else None,
                "interval": [round(x, 4) for x in wilson(found[value], total)],
                "target": round(share, 4),
                "enough": found[value] >= MIN_CELL,
            }
            for value, share in wanted.items()
        },
    }
    if not wanted:
        return VALIDATOR.unknown(f"“{name}” declares no values to compare with.", data=data)
    if total < MIN_CELL:
        words = (
            f"{total} items declare “{name}” ({unknown} do not); {MIN_CELL} are needed to speak of shares."
        )
        return VALIDATOR.unknown(words, data=data)
    gap = distance(found, wanted)
    reasons = [_words(name, found, wanted, total)]
    if unknown:
        reasons.append(f"{unknown} of {len(items)} items do not declare “{name}”.")
    if unknown > MOSTLY_UNKNOWN * len(items):
        reasons.append("Most items do not declare it: these shares may not be those of the whole.")
    return VALIDATOR.finding(
        grade(gap, FINE, FAR), 1 - gap, *reasons, data={**data, "distance": round(gap, 4)}
    )


def _words(name: str, found: Mapping[str, int], wanted: Mapping[str, float], total: int) -> str:
    worst = max(wanted, key=lambda value: abs(found.get(value, 0) / total - wanted[value]))
    share, count = found.get(worst, 0) / total, found.get(worst, 0)
    low, high = wilson(count, total)
    few = "" if count >= MIN_CELL else f" (fewer than {MIN_CELL})"
    return (
        f"“{name}”: {worst} has {count} of {total} items{few}, {share:.0%} (interval {low:.0%} to {high:.0%}); "
        f"the target is {wanted[worst]:.0%}."
    )
