"""Marginal bias: does a submission bring the campaign's declared groups nearer their targets, or further away?

Measured against the accepted items given, so the caller decides which state of the campaign that is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from marketplace.validators.finding import BAD, OK, SUSPECT, Finding, ValidatorInfo
from marketplace.validators.groups import MIN_CELL, UNKNOWN_GROUP, Declared, counts, distance, targets

VALIDATOR = ValidatorInfo("marginal", "1", direction="bias")
NOTICED, LARGE = 0.01, 0.10  # change of the distance: one item in a hundred, one in ten


def inspect(
    accepted: Sequence[Mapping[str, Any]], submission: Sequence[Mapping[str, Any]], declared: Declared
) -> list[Finding]:
    """One finding per attribute. `data.effect` is signed: + brings the shares nearer, − moves them away.

    `data.scarcity`: for each group the part of its target that the accepted items lack, 0 to 1.
    """
    return [_inspect(accepted, submission, attribute) for attribute in declared]


def _inspect(
    accepted: Sequence[Mapping[str, Any]],
    submission: Sequence[Mapping[str, Any]],
    attribute: Mapping[str, Any],
) -> Finding:
    name, wanted = str(attribute["name"]), targets(attribute)
    before, added = counts(accepted, name, wanted), counts(submission, name, wanted)
    known_before = sum(before[value] for value in wanted)
    known_added = sum(added[value] for value in wanted)
    data: dict[str, Any] = {
        "attribute": name,
        "before": {value: before[value] for value in wanted},
        "added": {value: added[value] for value in wanted},
        "unknown": {"before": before[UNKNOWN_GROUP], "added": added[UNKNOWN_GROUP]},
        "scarcity": scarcity(before, wanted) if known_before >= MIN_CELL else {},
    }
    if not wanted:
        return VALIDATOR.unknown(f"“{name}” declares no values to compare with.", data=data)
    if known_before < MIN_CELL:
        words = f"{known_before} accepted items declare “{name}”; {MIN_CELL} are needed before an effect can be named."
        return VALIDATOR.unknown(words, data=data)
    if not known_added:
        return VALIDATOR.unknown(f"No item of the submission declares “{name}”.", data=data)
    was, becomes = distance(before, wanted), distance(before + added, wanted)
    effect = was - becomes
    data |= {
        "distance_before": round(was, 4),
        "distance_after": round(becomes, 4),
        "effect": round(effect, 4),
    }
    outcome = OK if effect > -NOTICED else SUSPECT if effect > -LARGE else BAD
    return VALIDATOR.finding(outcome, 0.5 + effect / 2, _words(name, was, becomes, added, wanted), data=data)


def scarcity(found: Mapping[str, int], wanted: Mapping[str, float]) -> dict[str, float]:
    """How much of each group's target share is still missing: 1 where none is there, 0 where it is met."""
    total = sum(found.get(value, 0) for value in wanted)
    return {
        value: round(max(0.0, 1 - found.get(value, 0) / (total * share)), 4) if total and share > 0 else 0.0
        for value, share in wanted.items()
    }


def _words(
    name: str, was: float, becomes: float, added: Mapping[str, int], wanted: Mapping[str, float]
) -> str:
    largest = max(wanted, key=lambda value: added.get(value, 0))
    if abs(was - becomes) < NOTICED / 10:
        return f"The submission leaves “{name}” as it is ({was:.1%} of the items off target)."
    direction = "nearer to" if becomes < was else "further from"
    return (
        f"The submission brings “{name}” {direction} its target: {was:.1%} of the items off target before, {becomes:.1%} "
        f"after (it adds {added.get(largest, 0)} × {largest})."
    )
