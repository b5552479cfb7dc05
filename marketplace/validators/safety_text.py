"""Personal data in a text, by pattern: e-mail addresses, telephone numbers, payment cards, IBANs.

Points people at it and counts; rejects nothing: a mail in a spam campaign holds addresses by nature.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from marketplace.validators.finding import SUSPECT, Finding, ValidatorInfo

VALIDATOR = ValidatorInfo("safety_text", "1", direction="safety")
EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[A-Za-z]{2,24}\b")
PHONE = re.compile(
    r"(?<![\w.,:-])(?:\+|00)\d{1,3}(?:[ ./-]?\(?\d{1,4}\)?){2,6}(?![\w])|(?<!\w)\(\d{3}\) ?\d{3}-\d{4}(?!\w)"
)
CARD = re.compile(r"(?<![\w-])\d(?:[ -]?\d){12,18}(?![\w-])")
IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")


def inspect(texts: Sequence[str]) -> list[Finding]:
    """One finding per text; `data` holds counts by kind, never the data found."""
    return [_inspect(text) for text in texts]


def _inspect(text: str) -> Finding:
    counts = count_personal_data(text)
    if not counts:
        return VALIDATOR.ok()
    words = ", ".join(f"{count} × {kind}" for kind, count in counts.items())
    return VALIDATOR.finding(
        SUSPECT,
        0.5,
        f"Looks like personal data: {words}. Check that it may be shared.",
        data={"counts": counts},
    )


def count_personal_data(text: str) -> dict[str, int]:
    """Counts by kind. What has the shape of an account or card number is not read as a telephone number too."""
    rest = CARD.sub(" # ", IBAN.sub(" # ", text))
    found = {
        "e-mail address": len(EMAIL.findall(text)),
        "telephone number": sum(7 <= _digits(m.group()) <= 15 for m in PHONE.finditer(rest)),
        "payment card": sum(passes_luhn(m.group()) for m in CARD.finditer(IBAN.sub(" # ", text))),
        "IBAN": sum(passes_iban(m.group()) for m in IBAN.finditer(text)),
    }
    return {kind: count for kind, count in found.items() if count}


def _digits(text: str) -> int:
    return sum(c.isdigit() for c in text)


def passes_luhn(text: str) -> bool:
    """Source: ISO/IEC 7812-1, annex B (mod 10, doubling every second digit from the right)."""
    digits = [int(c) for c in text if c.isdigit()]
    doubled = [sum(divmod(2 * d, 10)) if i % 2 else d for i, d in enumerate(reversed(digits))]
    return len(digits) >= 13 and len(set(digits)) > 1 and sum(doubled) % 10 == 0


def passes_iban(text: str) -> bool:
    """Source: ISO 13616 with ISO 7064 MOD 97-10: the rearranged number leaves remainder 1."""
    compact = text.replace(" ", "")
    rearranged = compact[4:] + compact[:4]
    return 15 <= len(compact) <= 34 and int("".join(str(int(c, 36)) for c in rearranged)) % 97 == 1
