"""Bytes to text for tables and texts: which encoding, and where a NUL byte sits. Guesses can be overridden."""

from __future__ import annotations

import codecs

from marketplace.intake.errors import TableRefused

BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
SAMPLE_BYTES = 65_536
WIDE_SHARE = 0.2  # of the sampled pairs; Western text in UTF-16 has nearly all, a stray NUL nearly none


def decode(data: bytes, encoding: str = "") -> tuple[str, str]:
    """(text, encoding). Order: byte order mark, UTF-16 by its zero bytes, UTF-8, Windows-1252.

    Raises: TableRefused with line and column of a NUL, or when the named encoding does not fit.
    """
    chosen = encoding or guess_encoding(data)
    try:
        text = data.decode(chosen)
    except LookupError:
        raise TableRefused(f"There is no encoding named “{chosen}”.", code="unknown_encoding") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TableRefused(
            f"Line {line}: byte {error.start} cannot be read as {chosen}. Choose another encoding.",
            where=f"line {line}",
            code="wrong_encoding",
        ) from None
    _refuse_nul(text)
    return text.removeprefix("\ufeff"), chosen


def guess_encoding(data: bytes) -> str:
    for mark, name in BOMS:
        if data.startswith(mark):
            return name
    sample = data[:SAMPLE_BYTES]
    pairs = max(1, len(sample) // 2)
    even, odd = sample[0::2].count(0) / pairs, sample[1::2].count(0) / pairs
    if len(data) % 2 == 0 and max(even, odd) > WIDE_SHARE and min(even, odd) < WIDE_SHARE / 2:
        return "utf-16-le" if odd > even else "utf-16-be"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252" if _fits(data, "cp1252") else "latin-1"
    return "utf-8"


def _fits(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _refuse_nul(text: str) -> None:
    at = text.find("\0")
    if at < 0:
        return
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    raise TableRefused(
        f"Line {line}, column {column}: a NUL byte. The file is damaged or not a text file; save it again as CSV (UTF-8).",
        where=f"line {line}, column {column}",
        code="nul_byte",
    )
