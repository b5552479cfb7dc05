"""A job's charge is divided to the last nano."""

from hypothesis import given
from hypothesis import strategies as st

from marketplace.rules.pricing import charge, samples_paid_by, settle


@given(
    st.integers(0, 10**15),
    st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(0, 10**9), max_size=8),
)
def test_nothing_is_lost_or_made(charged, samples):
    shares = settle(charged, samples)
    assert sum(shares.payouts.values()) + shares.burned == charged
    assert shares.burned >= charged // 10
    if sum(samples.values()):
        assert sum(shares.payouts.values()) == charged * 9 // 10


@given(st.integers(0, 10**12), st.integers(1, 1000), st.integers(0, 1000))
def test_more_samples_never_earn_less(charged, many, few):
    shares = settle(charged, {"a": max(many, few), "b": min(many, few)})
    assert shares.payouts["a"] >= shares.payouts["b"] and abs(
        shares.payouts["a"] * min(many, few) - shares.payouts["b"] * max(many, few)
    ) <= max(many, few)


def test_nobody_to_pay_burns_all():
    assert settle(100, {}).burned == 100
    assert settle(100, {"a": 0}).payouts == {}


def test_a_limit_pays_for_whole_samples():
    assert samples_paid_by(1000, 300) == 3
    assert samples_paid_by(1000, 0) == 0
    assert charge(3, 300) == 900
