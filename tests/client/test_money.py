"""HYD and nano: exact both ways, and no amount that is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client import ConfigurationError, to_hyd, to_nano


@pytest.mark.parametrize(
    "hyd, nano", [("1", 10**9), ("0.5", 5 * 10**8), ("0.000000001", 1), ("1e3", 10**12), (".25", 25 * 10**7)]
)
def test_amounts_are_exact(hyd, nano):
    assert to_nano(hyd) == nano


@pytest.mark.parametrize("hyd", ["", "0", "-1", "0.0000000001", "nan", "inf", "12 HYD", "1,5"])
def test_what_is_no_amount_is_refused(hyd):
    with pytest.raises(ConfigurationError, match="is not an amount"):
        to_nano(hyd)


@given(st.integers(1, 2**63 - 1))
def test_there_and_back_is_the_same(nano):
    assert to_nano(to_hyd(nano)) == nano


@pytest.mark.parametrize("nano, hyd", [(0, "0"), (-1_250_000_000, "-1.25"), (10**9, "1")])
def test_hyd_is_short(nano, hyd):
    assert to_hyd(nano) == hyd
