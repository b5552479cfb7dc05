"""Names as people sent them, made safe to show. Storage keys are generated elsewhere and never come from here."""

from __future__ import annotations

import unicodedata

MAX_NAME = 300
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# Marks that turn the direction of writing ("gpj.exe" shown as "exe.jpg"), line breaks beyond \n, and the BOM.
UNSHOWABLE = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2028\u2029\u2066\u2067\u2068\u2069\ufeff"
)


def _showable(character: str) -> str:
    if character in UNSHOWABLE or unicodedata.category(character) in {"Cc", "Cs", "Cn"}:
        return REPLACEMENT
    return character


def safe_name(name: str) -> str:
    """The name without control or direction characters, at most 300 long with its ending kept.

    A leading dash gets a "_" so that no tool reads an exported name as an option. Applying it twice changes
    nothing; emoji joined by zero-width joiners stay whole.
    """
    shown = "".join(_showable(c) for c in unicodedata.normalize("NFC", name)).strip()
    if shown.startswith("-"):
        shown = "_" + shown
    if len(shown) > MAX_NAME:
        shown = shown[: MAX_NAME - 21] + "…" + shown[-20:]
    return shown or "unnamed"


def place(text: str, limit: int = 60) -> str:
    """A short, safe quotation for a message."""
    shown = safe_name(text)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
