"""What people decided before about the same content: a reason for another look, never for a rejection by itself.

Which items have the same content, and what was said of them, is the caller's to find.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from marketplace.validators.finding import SUSPECT, Finding, ValidatorInfo

VALIDATOR = ValidatorInfo("history", "1")
REJECTED_BEFORE = "The same content was rejected before"


@dataclass(frozen=True)
class Rejection:
    """A moderator's verdict on an item with the same content."""

    item: str  # its public id
    label: str
    reason: str


def check(label: str, rejections: Sequence[Rejection]) -> Finding | None:
    """None where nothing was rejected. Of several rejections, oldest first, the newest under this label counts."""
    if not rejections:
        return None
    same = [one for one in rejections if one.label == label]
    told = (same or rejections)[-1]
    where = "" if same else f" as “{told.label}”"
    data = {"of": told.item, "same_label": bool(same), "times": len(rejections)}
    return VALIDATOR.finding(SUSPECT, 0.0, f"{REJECTED_BEFORE}{where}: {told.reason}", data=data)
