"""Association: do labels go with declared groups? Effect sizes with intervals, never a bare p-value.

A link need not be unfair, but a model trained on it will learn it; the owner should know it before training.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marketplace.validators.finding import Finding, ValidatorInfo
from marketplace.validators.groups import MIN_CELL, Declared, grade, targets
from marketplace.validators.intervals import Z95, share_difference

VALIDATOR = ValidatorInfo("association", "1", direction="bias")
SLIGHT, STRONG = 0.10, 0.30  # of Cramér's V: Cohen's small and medium for two groups
SLIGHT_GAP = 0.05  # difference in shares whose whole interval lies beyond it


def inspect(items: Sequence[Mapping[str, Any]], labels: Sequence[str], declared: Declared) -> list[Finding]:
    """One finding per declared attribute, over groups and labels with at least 30 items."""
    return [_inspect(items, labels, attribute) for attribute in declared]


def _inspect(
    items: Sequence[Mapping[str, Any]], labels: Sequence[str], attribute: Mapping[str, Any]
) -> Finding:
    name, known = str(attribute["name"]), targets(attribute)
    pairs = Counter(
        (str(item[name]), label)
        for item, label in zip(items, labels, strict=True)
        if item.get(name) is not None and str(item[name]) in known
    )
    sizes = Counter(group for (group, _), count in pairs.items() for _ in range(count))
    groups = [g for g in known if sizes[g] >= MIN_CELL]
    classes = sorted({label for (group, label) in pairs if group in groups})
    small = {g: sizes[g] for g in known if sizes[g] < MIN_CELL}
    data: dict[str, Any] = {"attribute": name, "groups": {g: sizes[g] for g in groups}, "too_small": small}
    if len(groups) < 2 or len(classes) < 2:
        seen = f"{len(groups)} groups of “{name}” with {MIN_CELL} items or more, and {len(classes)} labels in them"
        return VALIDATOR.unknown(f"{seen}: two of each are needed to compare.", data=data)
    table = np.array([[pairs[g, c] for c in classes] for g in groups], dtype=np.int64)
    strength = cramers_v(table)
    group, other, label = widest_gap(table)
    difference = share_difference(
        int(table[group, label]), int(table[group].sum()), int(table[other, label]), int(table[other].sum())
    )
    data |= _numbers(table, (group, other, label), strength, difference)
    data |= {"between": [groups[group], groups[other]], "label": classes[label]}
    certain = difference[1] > SLIGHT_GAP
    outcome = grade(strength if certain else min(strength, SLIGHT), SLIGHT, STRONG)
    reasons = [_words(name, groups[group], groups[other], classes[label], difference, data)]
    if small:
        listed = ", ".join(f"{g} ({n})" for g, n in small.items())
        reasons.append(f"Too few items to compare: {listed}; {MIN_CELL} are needed.")
    return VALIDATOR.finding(outcome, 1 - strength, *reasons, data=data)


def cramers_v(table: NDArray[np.int64]) -> float:
    """√(φ² / min(r−1, c−1)) with Bergsma's correction for small samples, in [0, 1].

    Source: Bergsma, J. Korean Stat. Soc. 42 (2013). Rows groups, columns labels.
    """
    table = table[:, table.sum(axis=0) > 0]
    n, (rows, columns) = table.sum(), table.shape
    if columns < 2:
        return 0.0
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / n
    phi2 = float(((table - expected) ** 2 / expected).sum() / n)
    phi2 = max(0.0, phi2 - (columns - 1) * (rows - 1) / (n - 1))
    rows_c, columns_c = rows - (rows - 1) ** 2 / (n - 1), columns - (columns - 1) ** 2 / (n - 1)
    return min(1.0, math.sqrt(phi2 / max(1e-12, min(rows_c, columns_c) - 1)))


def widest_gap(table: NDArray[np.int64]) -> tuple[int, int, int]:
    """(group, other group, label) where the label's share differs most; the group has the larger share."""
    shares = table / table.sum(axis=1, keepdims=True)
    label = int((shares.max(axis=0) - shares.min(axis=0)).argmax())
    return int(shares[:, label].argmax()), int(shares[:, label].argmin()), label


def log_odds(table: NDArray[np.int64], group: int, other: int, label: int) -> tuple[float, float, float]:
    """Log of the odds ratio with its 95 % interval; half a count is added to each cell (Haldane-Anscombe)."""
    a, c = table[group, label] + 0.5, table[other, label] + 0.5
    b, d = table[group].sum() - table[group, label] + 0.5, table[other].sum() - table[other, label] + 0.5
    value = math.log(a * d / (b * c))
    half = Z95 * math.sqrt(1 / a + 1 / b + 1 / c + 1 / d)
    return value, value - half, value + half


def _numbers(
    table: NDArray[np.int64],
    cell: tuple[int, int, int],
    strength: float,
    difference: tuple[float, float, float],
) -> dict[str, Any]:
    odds = log_odds(table, *cell)
    return {
        "cramers_v": round(strength, 4),
        "difference": round(difference[0], 4),
        "difference_interval": [round(difference[1], 4), round(difference[2], 4)],
        "log_odds": round(odds[0], 4),
        "log_odds_interval": [round(odds[1], 4), round(odds[2], 4)],
    }


def _words(
    name: str,
    group: str,
    other: str,
    label: str,
    difference: tuple[float, float, float],
    data: Mapping[str, Any],
) -> str:
    value, low, high = (100 * x for x in difference)
    return (
        f"“{label}” is {value:.0f} points more frequent where “{name}” is {group} than where it is {other} "
        f"(interval {low:.0f} to {high:.0f}; Cramér's V {data['cramers_v']:.2f})."
    )
