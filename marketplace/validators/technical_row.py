"""Technical quality of a table row against the campaign's columns: types, ranges, known values, what is missing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from marketplace.validators.finding import BAD, OK, SUSPECT, Finding, ValidatorInfo

VALIDATOR = ValidatorInfo("technical_row", "1")
TOO_MANY_MISSING = 0.5


def inspect(rows: Sequence[Mapping[str, Any]], columns: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """One finding per row. Columns: {"name", "type": "number"|"category", "values"?, "low"?, "high"?}."""
    if not columns:
        return [VALIDATOR.unknown("The campaign declares no columns to check against.") for _ in rows]
    return [_inspect(row, columns) for row in rows]


def _inspect(row: Mapping[str, Any], columns: Sequence[Mapping[str, Any]]) -> Finding:
    missing = [str(c["name"]) for c in columns if row.get(str(c["name"])) is None]
    wrong = [words for c in columns if (words := _wrong(row.get(str(c["name"])), c))]
    share = len(missing) / len(columns)
    data = {"missing": missing, "wrong": len(wrong), "columns": len(columns)}
    if wrong:
        return VALIDATOR.finding(BAD, 0.5 * (1 - len(wrong) / len(columns)), *wrong, data=data)
    if share > TOO_MANY_MISSING:
        return VALIDATOR.finding(
            BAD, 1 - share, f"{len(missing)} of {len(columns)} values are missing.", data=data
        )
    if missing:
        more = f" … and {len(missing) - 5} more" if len(missing) > 5 else ""
        words = f"{len(missing)} of {len(columns)} values are missing ({', '.join(missing[:5])}{more})."
        return VALIDATOR.finding(SUSPECT if share > 0.25 else OK, 1 - share, words, data=data)
    return VALIDATOR.ok(data=data)


def unusable(row: Mapping[str, Any], columns: Sequence[Mapping[str, Any]]) -> list[str]:
    """Values that no model of these columns can take, in words. One out of its range is doubtful, but usable."""
    free = [{**column, "low": None, "high": None} for column in columns]
    return [said for column in free if (said := _wrong(row.get(column["name"]), column))]


def _wrong(value: Any, column: Mapping[str, Any]) -> str:
    if value is None:
        return ""
    name = column["name"]
    if column.get("type") == "number":
        return _wrong_number(value, name, column)
    known = column.get("values")
    if known and str(value) not in {str(v) for v in known}:
        return f"“{name}” is “{str(value)[:40]}”, not one of its {len(known)} declared values."
    return ""


def _wrong_number(value: Any, name: str, column: Mapping[str, Any]) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return f"“{name}” is “{str(value)[:40]}”, not a number."
    low, high = column.get("low"), column.get("high")
    if low is not None and value < low:
        return f"“{name}” is {value:g}, below the lowest possible {low:g}."
    if high is not None and value > high:
        return f"“{name}” is {value:g}, above the highest possible {high:g}."
    return ""
