"""CSV and JSON Lines to records: encoding, delimiter, header and shape. What a record means is records.py's.

Rows are numbered as people see them in a spreadsheet without its header: the first data row is row 1.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from marketplace.intake.encodings import decode
from marketplace.intake.entry import UploadLimits
from marketplace.intake.errors import TableRefused
from marketplace.intake.names import place

DELIMITERS = (",", ";", "\t", "|")
SNIFF_RECORDS = 20
csv.field_size_limit(2**24)  # the default 131,072 fails with a message about itself; ours is text_chars


@dataclass(frozen=True)
class Record:
    """One row: its number, its line in the file, and either its cells by column or why it is refused."""

    row: int
    line: int
    cells: dict[str, Any]
    refusal: str = ""

    @property
    def locator(self) -> str:
        return f"row {self.row}" if self.line == self.row + 1 else f"row {self.row} (line {self.line})"


@dataclass(frozen=True)
class Table:
    columns: tuple[str, ...]
    records: tuple[Record, ...]
    encoding: str
    delimiter: str = ""


def parse_csv(
    data: bytes, expected: Sequence[str], limits: UploadLimits, *, encoding: str = "", delimiter: str = ""
) -> Table:
    """Reads a CSV as spreadsheets write it: any of four delimiters, quoted newlines, BOM, cp1252, UTF-16.

    Raises: TableRefused for what spoils the whole table (no rows, NUL, quotes never closed, columns named
    twice); a row of the wrong width is refused by itself.
    """
    text, used = decode(data, encoding)
    delimiter = delimiter or sniff_delimiter(text, expected)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    columns: tuple[str, ...] = ()
    records: list[Record] = []
    start = 1
    try:
        for cells in reader:
            if not columns:
                columns = _header(cells)
            elif any(cell.strip() for cell in cells):
                records.append(_csv_record(len(records) + 1, start, columns, cells))
                _refuse_too_many(len(records), limits)
            start = reader.line_num + 1
    except csv.Error as error:
        raise TableRefused(
            f"The row that begins on line {start} cannot be read ({error}). Look for a quotation mark too many there.",
            where=f"line {start}",
            code="bad_quotes",
        ) from None
    _refuse_empty(records, columns)
    return Table(columns, tuple(records), used, delimiter)


def sniff_delimiter(text: str, expected: Sequence[str]) -> str:
    """The delimiter whose header holds most of the expected columns, then the one that cuts rows evenly."""
    wanted = {_fold(name) for name in expected}

    def merit(delimiter: str) -> tuple[int, int, int]:
        widths: list[int] = []
        header: list[str] = []
        try:
            for cells in csv.reader(io.StringIO(text[:65_536], newline=""), delimiter=delimiter):
                header = header or cells
                widths.append(len(cells))
                if len(widths) > SNIFF_RECORDS:
                    break
        except csv.Error:
            return (0, 0, 0)
        found = len(wanted & {_fold(cell) for cell in header})
        even = (
            bool(header) and len(header) > 1 and sum(w == len(header) for w in widths) * 10 >= 8 * len(widths)
        )
        return (found, int(even), len(header) if even else 0)

    return max(DELIMITERS, key=merit)


def _fold(name: str) -> str:
    return name.strip().casefold()


def _header(cells: Sequence[str]) -> tuple[str, ...]:
    columns = tuple(cell.strip() for cell in cells)
    seen: set[str] = set()
    for column in columns:
        if column and _fold(column) in seen:
            raise TableRefused(
                f"Two columns are named “{place(column)}”. Give each its own name.", where="line 1"
            )
        seen.add(_fold(column))
    return columns


def _csv_record(row: int, line: int, columns: Sequence[str], cells: Sequence[str]) -> Record:
    if len(cells) != len(columns):
        return Record(row, line, {}, f"it has {len(cells)} cells, the header has {len(columns)}")
    return Record(row, line, dict(zip(columns, cells, strict=True)))


def _refuse_too_many(count: int, limits: UploadLimits) -> None:
    if count > limits.rows:
        raise TableRefused(f"More than {limits.rows:,} rows. Send the table in parts.", code="too_many_rows")


def _refuse_empty(records: Sequence[Record], columns: Sequence[str]) -> None:
    if records:
        return
    header = ", ".join(place(column) for column in columns)
    detail = f" Only the header was found: {header}." if columns else " The file is empty."
    raise TableRefused(f"There are no rows in the file.{detail}", code="no_rows")


def parse_jsonl(data: bytes, limits: UploadLimits, *, encoding: str = "") -> Table:
    """One JSON object a line, or one array of objects. A line that is neither is refused by itself."""
    text, used = decode(data, encoding)
    if text.lstrip().startswith("["):
        found = _json_array(text)
    else:
        lines = enumerate(text.split("\n"), start=1)
        found = [(number, _load(line)) for number, line in lines if line.strip()]
    _refuse_too_many(len(found), limits)
    records = [_json_record(index, line, value) for index, (line, value) in enumerate(found, start=1)]
    _refuse_empty(records, ())
    columns = dict.fromkeys(name for record in records for name in record.cells)
    return Table(tuple(columns), tuple(records), used)


def _json_array(text: str) -> list[tuple[int, Any]]:
    value = _load(text)
    if isinstance(value, ValueError):
        raise TableRefused(f"The JSON cannot be read: {value}.", code="bad_json")
    return [(index, item) for index, item in enumerate(value, start=1)]


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON value")


def _load(text: str) -> Any:
    """The value, or the ValueError that says why there is none."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        return ValueError("it is nested too deeply")
    except ValueError as error:
        return error


def _json_record(row: int, line: int, value: Any) -> Record:
    if isinstance(value, ValueError):
        return Record(row, line, {}, f"it is not JSON: {value}")
    if not isinstance(value, dict):
        return Record(row, line, {}, 'it is not a JSON object like {"text": …, "label": …}')
    return Record(row, line, value)
