"""Rewards: the same evidence gives the same nano everywhere, and the receipt says why."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marketplace.rules.admission import fill_policy
from marketplace.rules.reward import (
    Balance,
    Factor,
    novelty_factor,
    price,
    quality_factor,
    recompute,
    scarcity_factor,
)

HYD = 10**9
POLICY = fill_policy({})


def factors(*values: float) -> list[Factor]:
    return [Factor("f", value, "") for value in values]


@pytest.mark.parametrize(
    "values, amount",
    [
        ([1, 1, 1], HYD),
        ([0.5, 1, 1.5], 750_000_000),
        ([0, 1, 1], 0),
        ([1 / 3, 1, 1], 333_333_000),
        ([0.9, 0.999999, 1.5], 1_349_998_650),
    ],
)
def test_the_product_is_exact_on_six_decimals(values, amount):
    assert price(HYD, factors(*values), cap_factor=2).amount == amount


def test_the_cap_holds_and_is_said():
    reward = price(HYD, factors(1.5, 1.5), cap_factor=2)
    assert reward.amount == 2 * HYD and reward.capped
    assert not price(HYD, factors(1.5), cap_factor=2).capped


@given(st.integers(0, 10**15), st.lists(st.floats(0, 2), max_size=4))
def test_a_receipt_gives_its_amount_again(base, values):
    reward = price(base, factors(*values), cap_factor=2)
    assert recompute(reward.as_json()) == reward.amount <= 2 * base


def test_quality_is_the_mean_of_what_is_known():
    assert quality_factor(0.8, 0.6, by_person=False).value == pytest.approx(0.7)
    assert quality_factor(0.8, None, by_person=False).value == pytest.approx(0.8)
    assert quality_factor(None, None, by_person=False).value == 1


def test_a_person_settles_the_label():
    factor = quality_factor(0.8, 0.1, by_person=True)
    assert factor.value == pytest.approx(0.8) and "moderator" in factor.why


def test_novelty_falls_with_resemblance():
    assert novelty_factor(None).value == novelty_factor(1.0).value == 1
    assert novelty_factor(0.25).value == 0.25
    assert novelty_factor(-1).value == 0


def sex(accepted: dict[str, int], added: dict[str, int]) -> Balance:
    return Balance("sex", {"f": 0.5, "m": 0.5}, accepted, added)


def test_a_missing_group_is_worth_more_and_a_full_one_less():
    balance = sex({"f": 10, "m": 90}, {"f": 1})
    rare, common = (scarcity_factor({"sex": value}, [balance], POLICY).value for value in ("f", "m"))
    assert 1.35 < rare <= 1.5 and 0.5 <= common < 0.65


def test_a_submission_that_fills_the_gap_earns_less_per_item():
    little = scarcity_factor({"sex": "f"}, [sex({"f": 10, "m": 90}, {"f": 1})], POLICY)
    much = scarcity_factor({"sex": "f"}, [sex({"f": 10, "m": 90}, {"f": 80})], POLICY)
    assert much.value < little.value
    assert much.value == pytest.approx(1.2, abs=0.001)  # (0.4 + 0) / 2 missing, of 0.5, halved


@pytest.mark.parametrize(
    "attributes, accepted",
    [({"sex": "f"}, {"f": 1, "m": 18}), ({}, {"f": 10, "m": 90}), ({"sex": "x"}, {"f": 10, "m": 90})],
)
def test_without_enough_to_measure_the_factor_is_one(attributes, accepted):
    assert scarcity_factor(attributes, [sex(accepted, {"f": 1})], POLICY).value == 1


def test_declaring_an_attribute_alone_pays_nothing():
    balanced = scarcity_factor({"sex": "f"}, [sex({"f": 50, "m": 50}, {"f": 1, "m": 1})], POLICY)
    assert balanced.value == 1
