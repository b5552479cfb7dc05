"""The few intervals and tests the validators state their findings with. Pure arithmetic on scipy."""

from __future__ import annotations

import math

from scipy import stats

Z95 = 1.959963984540054


def wilson(hits: int, count: int, z: float = Z95) -> tuple[float, float]:
    """Interval of a share. Source: Wilson, JASA 22 (1927); worked example: 8 of 10 → 0.490 to 0.943."""
    if count == 0:
        return 0.0, 1.0
    share = hits / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def binomial_tail(hits: int, count: int, share: float) -> float:
    """P(X ≥ hits) for X ~ Binomial(count, share)."""
    return float(stats.binom.sf(hits - 1, count, min(1.0, max(0.0, share))))


def share_difference(hits_a: int, count_a: int, hits_b: int, count_b: int) -> tuple[float, float, float]:
    """p_a − p_b with its 95 % interval. Source: Newcombe, Statistics in Medicine 17 (1998), method 10."""
    p_a, p_b = hits_a / count_a, hits_b / count_b
    low_a, high_a = wilson(hits_a, count_a)
    low_b, high_b = wilson(hits_b, count_b)
    difference = p_a - p_b
    return (
        difference,
        difference - math.hypot(p_a - low_a, high_b - p_b),
        difference + math.hypot(high_a - p_a, p_b - low_b),
    )
