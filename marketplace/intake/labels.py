"""Label identity: which spellings are one class, which are asked about.

Same class: equal after NFC and stripping (what a keyboard or a spreadsheet changes by itself). Nearly equal
(case, width, accents, one letter) is a question for a person, never merged silently.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

MatchKind = Literal["same", "normalised", "ask", "unknown"]
INVISIBLE_ENDS = "\u200b\u200c\u200d\u2060\ufeff"
CLOSE_SPELLING = 0.85  # "bycicle" and "bicycle" are 0.86 alike; "cat" and "car" 0.67


@dataclass(frozen=True)
class LabelMatch:
    """`label` is the class's own spelling for same and normalised, else the normal form of what was received."""

    label: str
    kind: MatchKind
    suggestion: str = ""
    why: str = ""


def normal_label(label: str) -> str:
    """NFC, without surrounding white space (NBSP too) or invisible characters; inner runs of space become one."""
    text = unicodedata.normalize("NFC", label)
    text = re.sub(r"\s+", " ", text)
    return text.strip(" " + INVISIBLE_ENDS)


def loose_label(label: str) -> str:
    """What is left when case, width, accents and separators are ignored: for asking, never for merging."""
    text = unicodedata.normalize("NFKD", normal_label(label)).casefold()
    text = "".join(c for c in text if not unicodedata.combining(c))
    return re.sub(r"[\s_\-]+", " ", text).strip()


@lru_cache(maxsize=256)
def _tables(classes: tuple[str, ...]) -> tuple[dict[str, str], dict[str, str]]:
    normal: dict[str, str] = {}
    loose: dict[str, str] = {}
    for known in classes:
        normal.setdefault(normal_label(known), known)
        loose.setdefault(loose_label(known), known)
    return normal, loose


def match_label(label: str, classes: Iterable[str]) -> LabelMatch:
    """Finds the class that a received label means; see LabelMatch for what each kind carries."""
    known = tuple(classes)
    if label in known:
        return LabelMatch(label, "same")
    normal, loose = _tables(known)
    form = normal_label(label)
    if form in normal:
        return LabelMatch(normal[form], "normalised")
    if loose_label(form) in loose:
        return LabelMatch(
            form, "ask", loose[loose_label(form)], "differs in case, width, accents or separators"
        )
    close = difflib.get_close_matches(loose_label(form), loose, n=1, cutoff=CLOSE_SPELLING)
    if close and len(form) > 3:
        return LabelMatch(form, "ask", loose[close[0]], "differs by a few letters")
    return LabelMatch(form, "unknown")
