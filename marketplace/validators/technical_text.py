"""Technical quality of a text: length, damage from wrong encodings, repetition, boilerplate of a batch.

Language and meaning are left to people.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from marketplace.validators.finding import BAD, OK, SUSPECT, Finding, Outcome, ValidatorInfo

VALIDATOR = ValidatorInfo("technical_text", "1")
# UTF-8 read as Windows-1252: a lead byte (Â Ã â ð) followed by what a continuation byte becomes.
MOJIBAKE = re.compile(
    "[\u00c2\u00c3][\u0080-\u00bf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013-\u203a\u20ac\u2122]"
    "|\u00e2\u20ac[\u0080-\u00bf\u0153\u0161\u017e\u02dc\u2013-\u203a\u2122]|\u00f0\u0178"
)
RUINED, SPECKLED = 0.02, 0.001  # damaged places per character: one in fifty, one in a thousand
REPEATED_RATIO = 0.12  # zlib leaves 0.35-0.65 of prose, less than a tenth of one sentence said fifty times
RATIO_FROM_CHARS = 400
BOILERPLATE_SHARE = 0.5
BOILERPLATE_FROM = 10  # texts; below it a common first line proves nothing


@dataclass(frozen=True)
class TextRules:
    """Units: characters and words."""

    min_words: int = 1
    max_chars: int = 100_000


def inspect(texts: Sequence[str], rules: TextRules = TextRules()) -> list[Finding]:
    """One finding per text; lines shared by half of the batch are named as boilerplate."""
    shared = _shared_lines(texts)
    return [_inspect(text, rules, shared) for text in texts]


def _shared_lines(texts: Sequence[str]) -> frozenset[str]:
    """Long lines that at least half of a batch has; identical texts are the duplicate validator's affair."""
    distinct = list(dict.fromkeys(texts))
    if len(distinct) < BOILERPLATE_FROM:
        return frozenset()
    seen = Counter(
        line for text in distinct for line in {part.strip() for part in text.splitlines()} if len(line) >= 20
    )
    return frozenset(line for line, count in seen.items() if count >= BOILERPLATE_SHARE * len(distinct))


def _inspect(text: str, rules: TextRules, shared: frozenset[str]) -> Finding:
    words = re.findall(r"\w+", text)
    problems = [
        *_length(text, words, rules),
        *_damage(text),
        *_repetition(text, words),
        *_boilerplate(text, shared),
    ]
    order: tuple[Outcome, ...] = (OK, SUSPECT, BAD)
    outcome = max((p[0] for p in problems), key=order.index, default=OK)
    data = {"chars": len(text), "words": len(words)}
    return VALIDATOR.finding(
        outcome, min([p[1] for p in problems], default=1.0), *(p[2] for p in problems), data=data
    )


Problem = tuple[Outcome, float, str]


def _length(text: str, words: list[str], rules: TextRules) -> list[Problem]:
    if not text.strip():
        return [(BAD, 0.0, "The text is empty.")]
    if not any(unicodedata.category(c)[0] in "LNS" for c in text):
        return [(BAD, 0.1, f"No letter, digit or symbol among {len(text)} characters.")]
    if len(words) < rules.min_words and rules.min_words > 1:
        return [
            (BAD, 0.2, f"Too short: {len(words)} words; the campaign asks for at least {rules.min_words}.")
        ]
    if len(text) > rules.max_chars:
        return [(BAD, 0.2, f"Too long: {len(text):,} characters; the limit is {rules.max_chars:,}.")]
    return []


def _damage(text: str) -> list[Problem]:
    lost = text.count("\N{REPLACEMENT CHARACTER}")
    wrong = len(MOJIBAKE.findall(text))
    control = sum(unicodedata.category(c) == "Cc" and c not in "\t\n\r\f" for c in text)
    problems: list[Problem] = []
    if lost or wrong:
        found = lost + wrong
        share = found / max(1, len(text))
        places = "1 place" if found == 1 else f"{found} places"
        words = f"Encoding damage: {places} where letters were lost or misread (like “Ã¼” for “ü”)."
        problems.append(
            (BAD, 0.3, words)
            if share > RUINED
            else (SUSPECT, 0.6, words)
            if share > SPECKLED
            else (OK, 0.9, words)
        )
    if control:
        problems.append((SUSPECT, 0.5, f"{control} control characters inside the text."))
    return problems


def _repetition(text: str, words: list[str]) -> list[Problem]:
    if len(text) >= RATIO_FROM_CHARS:
        raw = text.encode("utf-8", "surrogatepass")
        ratio = len(zlib.compress(raw, 6)) / len(raw)
        if ratio < REPEATED_RATIO:
            return [
                (
                    SUSPECT,
                    0.2,
                    f"Mostly repetition: it shrinks to {ratio:.0%} when packed, prose to 35 % and more.",
                )
            ]
    if len(words) >= 8:
        word, count = Counter(w.lower() for w in words).most_common(1)[0]
        if count >= 0.6 * len(words):
            return [(SUSPECT, 0.3, f"One word (“{word[:30]}”) makes up {count} of {len(words)} words.")]
    return []


def _boilerplate(text: str, shared: frozenset[str]) -> list[Problem]:
    if not shared:
        return []
    chars = sum(len(line.strip()) for line in text.splitlines() if line.strip() in shared)
    share = chars / max(1, len(text.strip()))
    if share < 0.8:
        return []
    return [(SUSPECT, 0.4, f"{share:.0%} of the text are lines that at least half of the submission shares.")]
