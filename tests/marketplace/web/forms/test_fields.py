"""Fields that people type without JSON or nano: what goes in, what comes out, what is refused."""

import pytest
from django.core.exceptions import ValidationError

from marketplace.web.forms.fields import ColumnsField, HydField, LinesField, SharesField


@pytest.mark.parametrize(
    "text, nano", [("1.25", 1_250_000_000), ("0.000000001", 1), ("1,000", 1_000 * 10**9), (" 2 ", 2 * 10**9)]
)
def test_hyd_becomes_nano(text, nano) -> None:
    field = HydField()
    assert field.clean(text) == nano
    assert field.clean(field.prepare_value(nano)) == nano


@pytest.mark.parametrize("text", ["", "x", "1.0000000001", "1e3", "-1", "∞"])
def test_what_is_no_amount_is_refused(text) -> None:
    with pytest.raises(ValidationError):
        HydField().clean(text)


def test_lines_drop_empty_ones() -> None:
    assert LinesField().clean(" a \r\n\n b\n") == ["a", "b"]


@pytest.mark.parametrize(
    "column",
    [
        {"name": "age", "type": "number", "low": 0.0, "high": 120.0},
        {"name": "height", "type": "number"},
        {"name": "mass", "type": "number", "low": 1.5},
        {"name": "colour", "type": "category", "values": ["red", "dark green"]},
    ],
)
def test_a_column_survives_the_form(column) -> None:
    field = ColumnsField()
    assert field.clean(field.prepare_value([column])) == [column]


@pytest.mark.parametrize("line", ["age", "age number", "age: years", "age: number low to high"])
def test_a_wrong_column_names_its_line(line) -> None:
    with pytest.raises(ValidationError, match="Line 2"):
        ColumnsField().clean(f"ok: number\n{line}")


@pytest.mark.parametrize(
    "groups",
    [
        {"values": ["f", "m"], "targets": {"f": 0.5, "m": 0.5}},
        {"values": ["f", "m"], "targets": {"f": 0.333}},
        {"values": ["a"], "targets": {}},
    ],
)
def test_groups_survive_the_form(groups) -> None:
    field = SharesField()
    assert field.clean(field.prepare_value(groups)) == groups


@pytest.mark.parametrize("line", ["f: half", "f: 101", "f: -1", "f: nan"])
def test_a_wrong_share_names_its_line(line) -> None:
    with pytest.raises(ValidationError, match="Line 1"):
        SharesField().clean(line)
