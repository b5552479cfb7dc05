"""HYD as text: exact both ways, and nothing that would lose or invent money."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marketplace.rules.money import MAX_NANO, AmountError, format_hyd, parse_hyd


@pytest.mark.parametrize(
    "nano, text",
    [
        (0, "0"),
        (1, "0.000000001"),
        (1_250_000_000, "1.25"),
        (10**9, "1"),
        (-1_500_000_000, "-1.5"),
        (MAX_NANO, "9223372036.854775807"),
    ],
)
def test_amounts_are_shown_exactly(nano, text):
    assert format_hyd(nano) == text


def test_fewer_digits_cut_toward_zero():
    assert format_hyd(1_999_999_999, digits=2) == "1.99"
    assert format_hyd(-1, digits=2) == "0"


@pytest.mark.parametrize(
    "text, nano", [("1.25", 1_250_000_000), (" 3 ", 3 * 10**9), (".5", 5 * 10**8), ("2.", 2 * 10**9)]
)
def test_decimals_are_read(text, nano):
    assert parse_hyd(text) == nano


@pytest.mark.parametrize("text", ["", "x", "1,25", "1e9", "0.0000000001", "-1", "NaN", "99999999999999", "١"])
def test_what_is_no_amount_is_refused_with_what_was_expected(text):
    with pytest.raises(AmountError) as refused:
        parse_hyd(text, minimum=0)
    assert refused.value.text == text


def test_a_minimum_is_named():
    with pytest.raises(AmountError, match=r"at least 0\.000000001 HYD"):
        parse_hyd("0", minimum=1)


@given(st.integers(-MAX_NANO, MAX_NANO))
def test_reading_what_was_shown_gives_the_same(nano):
    assert parse_hyd(format_hyd(nano), minimum=-MAX_NANO) == nano
