"""Coverage, association and marginal bias, with figures from Adult and small ones that say nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marketplace.validators import association, coverage, marginal
from marketplace.validators.intervals import share_difference
from tests.marketplace.validators.samples import adult

SEX = [{"name": "sex", "values": ["f", "m"], "targets": {"f": 0.5, "m": 0.5}}]


def items(f=0, m=0, unknown=0):
    return [{"sex": "f"}] * f + [{"sex": "m"}] * m + [{}] * unknown


@pytest.mark.parametrize("f, m, outcome", [(50, 50, "ok"), (35, 65, "suspect"), (5, 95, "bad")])
def test_coverage_against_targets(f, m, outcome):
    (finding,) = coverage.inspect(items(f, m), SEX)
    assert finding.outcome == outcome
    assert finding.direction == "bias"
    assert finding.data["groups"]["f"]["count"] == f
    assert "the target is 50%" in finding.reasons[0]


def test_unknown_is_shown_and_few_are_not_judged():
    (finding,) = coverage.inspect(items(20, 20, unknown=60), SEX)
    assert finding.data["unknown"] == 60
    assert any("60 of 100 items do not declare" in reason for reason in finding.reasons)
    assert coverage.inspect(items(14, 15), SEX)[0].outcome == "not_enough_evidence"
    assert coverage.inspect([], SEX)[0].outcome == "not_enough_evidence"
    assert coverage.inspect(items(40), [{"name": "sex"}])[0].outcome == "not_enough_evidence"
    assert coverage.inspect(items(40), []) == []


def test_association_of_income_with_sex_in_adult():
    """The label gap in the data is 0.195 over all 48,842 rows (fairlearn's demographic parity difference)."""
    rows, labels = adult(3_000)
    declared = [{"name": "sex", "values": ["Female", "Male"]}]
    (finding,) = association.inspect(rows, labels, declared)
    assert finding.outcome == "suspect"
    assert finding.data["cramers_v"] == pytest.approx(0.215, abs=0.03)
    low, high = finding.data["difference_interval"]
    assert low < 0.195 < high
    assert finding.data["log_odds_interval"][0] > 0
    assert "points more frequent" in finding.reasons[0]


def test_association_agrees_with_fairlearn():
    from fairlearn.metrics import MetricFrame, selection_rate

    rows, labels = adult(1_000)
    truth = np.array([label == ">50K" for label in labels], dtype=int)
    frame = MetricFrame(
        metrics=selection_rate, y_true=truth, y_pred=truth, sensitive_features=[r["sex"] for r in rows]
    )
    (finding,) = association.inspect(rows, labels, [{"name": "sex", "values": ["Female", "Male"]}])
    assert finding.data["difference"] == pytest.approx(frame.difference(), abs=1e-3)


def test_no_association_and_too_small_groups():
    even = items(60, 60)
    labels = ["yes", "no"] * 60
    assert association.inspect(even, labels, SEX)[0].outcome == "ok"
    (finding,) = association.inspect(items(29, 60), ["yes", "no"] * 44 + ["no"], SEX)
    assert finding.outcome == "not_enough_evidence"
    assert finding.data["too_small"] == {"f": 29}
    assert association.inspect(even, ["yes"] * 120, SEX)[0].outcome == "not_enough_evidence"
    assert association.inspect([], [], SEX)[0].outcome == "not_enough_evidence"


def test_labels_that_follow_the_group_are_bad():
    (finding,) = association.inspect(items(60, 60), ["yes"] * 60 + ["no"] * 60, SEX)
    assert finding.outcome == "bad"
    assert finding.data["cramers_v"] > 0.95


def test_newcombe_interval_against_his_worked_example():
    """Newcombe 1998, table II, method 10, case (a): 56/70 − 48/80 → 0.2, 0.0524 to 0.3339."""
    assert share_difference(56, 70, 48, 80) == pytest.approx((0.2, 0.0524, 0.3339), abs=1e-4)


def test_a_submission_that_brings_the_missing_group_helps():
    accepted = items(10, 90)
    (helps,) = marginal.inspect(accepted, items(f=40), SEX)
    (harms,) = marginal.inspect(accepted, items(m=40), SEX)
    assert helps.data["effect"] > 0 > harms.data["effect"]
    assert "nearer to its target: 40.0% of the items off target before" in helps.reasons[0]
    assert harms.outcome == "suspect"
    assert helps.data["scarcity"] == {"f": 0.8, "m": 0.0}


def test_overshooting_is_harm_and_little_evidence_is_none():
    assert marginal.inspect(items(50, 50), items(f=200), SEX)[0].data["effect"] < 0
    assert marginal.inspect(items(5, 5), items(f=10), SEX)[0].outcome == "not_enough_evidence"
    assert marginal.inspect(items(40, 40), items(unknown=9), SEX)[0].outcome == "not_enough_evidence"
    assert marginal.inspect(items(40, 40), [], SEX)[0].outcome == "not_enough_evidence"


@given(st.integers(30, 99), st.integers(30, 99), st.integers(1, 99), st.integers(1, 99))
def test_the_effect_is_the_difference_of_the_distances(f, m, new_f, new_m):
    (finding,) = marginal.inspect(items(f, m), items(new_f, new_m), SEX)
    data = finding.data
    assert data["effect"] == pytest.approx(data["distance_before"] - data["distance_after"], abs=2e-4)
    assert -1 <= data["effect"] <= 1
