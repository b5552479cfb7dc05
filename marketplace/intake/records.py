"""Table records to entries, by the campaign's schema: text and label columns, or feature columns.

Values are brought to their declared type where that is certain; whether they are plausible is a validator's.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from marketplace.intake.entry import UPLOAD_LIMITS, Entry, LabelQuestion, UploadLimits, UploadSchema
from marketplace.intake.errors import TableRefused
from marketplace.intake.labels import LabelMatch, match_label, normal_label
from marketplace.intake.names import place, safe_name
from marketplace.intake.tables import Record, Table

MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "none"})
MAX_LABEL = 120


@dataclass
class LabelDesk:
    """Matches the labels of one upload, and collects what must be asked and what was changed."""

    classes: tuple[str, ...]
    answers: Mapping[str, str] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    changed: Counter[tuple[str, str]] = field(default_factory=Counter)
    matches: dict[str, LabelMatch] = field(default_factory=dict)

    def settle(self, received: str) -> tuple[str, str]:
        """(label, refusal): exactly one is empty. Open campaigns take the first spelling of each new class."""
        if len(received) > MAX_LABEL:
            return "", f"its label is {len(received)} characters long; the limit is {MAX_LABEL}"
        received = self.answers.get(received, received)
        match = self._match(received)
        if match.kind == "normalised":
            self.changed[received, match.label] += 1
        if match.kind in ("same", "normalised"):
            return match.label, ""
        if match.kind == "ask":
            self.asked[received] += 1
            return "", (
                f"the label “{place(received)}” is not a class of the campaign; did you mean "
                f"“{place(match.suggestion)}”? It {match.why}"
            )
        known = _first([place(c, 30) for c in self.classes], 8)
        return "", f"the label “{place(received)}” is not a class of the campaign ({known})"

    def _match(self, received: str) -> LabelMatch:
        if received not in self.matches:
            match = match_label(received, self.classes)
            if match.kind == "unknown" and self.is_open and match.label:
                self.classes = (*self.classes, match.label)
                match = LabelMatch(match.label, "same" if match.label == received else "normalised")
            self.matches[received] = match
        return self.matches[received]

    @property
    def is_open(self) -> bool:
        return self._open

    def __post_init__(self) -> None:
        self._open = not self.classes

    def questions(self) -> tuple[LabelQuestion, ...]:
        return tuple(
            LabelQuestion(label, self.matches[label].suggestion, self.matches[label].why, count)
            for label, count in self.asked.items()
        )

    def notices(self) -> tuple[str, ...]:
        return tuple(
            f"{count} × “{place(old)}” was taken as the class “{place(new)}”: only its invisible spelling differs."
            for (old, new), count in self.changed.items()
        )


def _first(names: Sequence[str], limit: int) -> str:
    """The names, or the first of them and how many more there are."""
    shown = ", ".join(names[:limit])
    more = len(names) - limit
    return f"{shown} … and {more} more" if more > 0 else shown


def table_entries(
    table: Table, schema: UploadSchema, desk: LabelDesk, limits: UploadLimits, *, name: str
) -> list[Entry]:
    """One entry per row. Raises: TableRefused when a column that the campaign needs is not there."""
    columns = resolve_columns(table, schema)
    build = _text_entry if schema.modality == "text" else _row_entry
    return [_entry(record, columns, schema, desk, limits, name, build) for record in table.records]


def resolve_columns(table: Table, schema: UploadSchema) -> dict[str, str]:
    """Wanted column → its spelling in the file (case and outer space do not matter)."""
    wanted = _needed(schema)
    present = {normal_label(column).casefold(): column for column in table.columns}
    found = {
        name: present[normal_label(name).casefold()]
        for name in wanted
        if normal_label(name).casefold() in present
    }
    missing = [name for name in wanted if name not in found]
    if missing:
        there = _first([f"“{place(c, 30)}”" for c in table.columns], 12) or "none"
        raise TableRefused(
            f"Column {', '.join(f'“{place(m, 30)}”' for m in missing)} is missing. The file has: {there}. "
            "Rename the columns, or choose another delimiter.",
            where="line 1",
            code="missing_column",
        )
    optional = {name: present[name.casefold()] for name in schema.attributes if name.casefold() in present}
    return found | optional


def _needed(schema: UploadSchema) -> list[str]:
    if schema.modality == "text":
        return [schema.text_column, schema.label_column]
    return [*(str(c["name"]) for c in schema.columns), schema.label_column]


Builder = Callable[[Mapping[str, Any], UploadSchema, UploadLimits], tuple[dict[str, Any], str]]


def _entry(
    record: Record,
    columns: Mapping[str, str],
    schema: UploadSchema,
    desk: LabelDesk,
    limits: UploadLimits,
    name: str,
    build: Builder,
) -> Entry:
    entry = Entry(name=safe_name(f"{name} {record.locator}"), locator=record.locator)
    if record.refusal:
        return replace(entry, kind="refused", reason=_sentence(record, record.refusal))
    cells = {wanted: record.cells.get(there) for wanted, there in columns.items()}
    fields, refusal = build(cells, schema, limits)
    received = cells.get(schema.label_column)
    if not refusal and (received is None or not str(received).strip()):
        refusal = f"it has no label in the column “{place(schema.label_column)}”"
    label = ""
    if not refusal:
        label, refusal = desk.settle(str(received))
    groups = {a: str(cells[a]).strip() for a in schema.attributes if cells.get(a) not in (None, "")}
    if refusal:
        return replace(entry, kind="refused", reason=_sentence(record, refusal), attributes=groups)
    return replace(entry, label=label, attributes=groups, **fields)


def _sentence(record: Record, refusal: str) -> str:
    locator = record.locator
    return f"{locator[0].upper()}{locator[1:]}: {refusal}."


def _text_entry(
    cells: Mapping[str, Any], schema: UploadSchema, limits: UploadLimits
) -> tuple[dict[str, Any], str]:
    text = cells.get(schema.text_column)
    if text is not None and not isinstance(text, str):
        return {}, f"“{place(schema.text_column)}” is not text"
    refusal = refuse_text(text or "", limits)
    return ({}, refusal) if refusal else ({"text": text, "size": len((text or "").encode())}, "")


def refuse_text(text: str, limits: UploadLimits) -> str:
    """Why a text cannot be an item at all, or ""."""
    if not text.strip():
        return "the text is empty"
    if len(text) > limits.text_chars:
        return f"the text has {len(text):,} characters; the limit is {limits.text_chars:,}"
    if any("\ud800" <= c <= "\udfff" for c in text):
        return "the text holds half of a character pair (a lone surrogate)"
    return ""


def _row_entry(
    cells: Mapping[str, Any], schema: UploadSchema, limits: UploadLimits
) -> tuple[dict[str, Any], str]:
    row: dict[str, Any] = {}
    for column in schema.columns:
        value = cells.get(str(column["name"]))
        if isinstance(value, (dict, list)):
            return {}, f"“{place(str(column['name']))}” holds a list or an object, not one value"
        row[str(column["name"])] = typed_value(value, str(column.get("type", "category")))
    return {"row": row, "size": len(json.dumps(row, ensure_ascii=False).encode())}, ""


def typed_value(value: Any, kind: str) -> Any:
    """None for what means missing; a number where the column is one and the value reads as one; else text.

    A decimal comma is not guessed: "1,234" is two different numbers in two countries.
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if isinstance(value, bool):
        return int(value) if kind == "number" else str(value).lower()
    if isinstance(value, (int, float)):
        return value if kind == "number" else str(value)
    text = str(value).strip()
    if text.casefold() in MISSING:
        return None
    return _number(text) if kind == "number" else unicodedata.normalize("NFC", text)


def _number(text: str) -> int | float | str:
    if re.fullmatch(r"[+-]?\d{1,18}", text, re.ASCII):
        return int(text)
    if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", text, re.ASCII):
        value = float(text)
        return value if math.isfinite(value) else text
    return text


def text_entry(text: str, label: str, schema: UploadSchema, *, position: int = 1) -> Entry:
    """One text sent by itself (API), judged like a table's row."""
    cells = {schema.text_column: text, schema.label_column: label}
    return row_entry(cells, schema, position=position)


def row_entry(cells: Mapping[str, Any], schema: UploadSchema, *, position: int = 1) -> Entry:
    """One row sent by itself (API): the same rules and the same refusals as in a table."""
    table = Table(tuple(cells), (Record(position, position + 1, dict(cells)),), "utf-8")
    return table_entries(table, schema, LabelDesk(schema.classes), UPLOAD_LIMITS, name="sent")[0]


def content_sha256_text(text: str) -> str:
    """Hash of a text without what a keyboard or a line ending changes by itself."""
    lines = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n")
    return hashlib.sha256(lines.strip().encode("utf-8", "surrogatepass")).hexdigest()


def content_sha256_row(row: Mapping[str, Any]) -> str:
    canonical = json.dumps(dict(row), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
