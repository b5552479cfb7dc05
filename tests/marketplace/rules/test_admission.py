"""What a policy makes of evidence: a flag alone never rejects."""

import pytest

from marketplace.rules.admission import (
    Context,
    PolicyError,
    Sign,
    admit,
    check_of,
    check_policy,
    doubt_submission,
    fill_policy,
)

OK = [Sign("technical", "ok"), Sign("duplicates", "ok"), Sign("labels", "ok")]


def decide(*signs: Sign, policy=None, **context) -> str:
    found = {sign.check: sign for sign in [*OK, *signs]}
    return admit(found.values(), Context(fill_policy(policy or {}), **context)).outcome


def test_what_passes_everything_is_accepted():
    assert decide() == "accepted"


@pytest.mark.parametrize(
    "sign, outcome",
    [
        (Sign("technical", "bad", ("Too small.",)), "rejected"),
        (Sign("technical", "suspect"), "accepted"),
        (Sign("decoding", "bad"), "rejected"),
        (Sign("labels", "suspect"), "needs_review"),
        (Sign("labels", "bad"), "needs_review"),
        (Sign("labels", "not_enough_evidence"), "accepted"),
        (Sign("duplicates", "bad", exact=True), "duplicate"),
        (Sign("duplicates", "suspect"), "needs_review"),
        (Sign("safety", "suspect"), "needs_review"),
    ],
)
def test_each_sign_has_its_outcome(sign, outcome):
    assert decide(sign) == outcome


@pytest.mark.parametrize(
    "sign, policy, outcome",
    [
        (Sign("technical", "bad"), {"reject_bad_technical": False}, "needs_review"),
        (Sign("decoding", "bad"), {"reject_bad_technical": False}, "rejected"),
        (Sign("labels", "suspect"), {"review_suspect_labels": False}, "accepted"),
        (Sign("labels", "not_enough_evidence"), {"cold_start": "review"}, "needs_review"),
        (Sign("duplicates", "suspect"), {"near_duplicates": "duplicate"}, "duplicate"),
    ],
)
def test_the_sponsor_may_decide_otherwise(sign, policy, outcome):
    assert decide(sign, policy=policy) == outcome


def test_reasons_are_the_validators_words():
    signs = [Sign("technical", "bad", ("Too small: 8 × 8 pixels.",))]
    assert admit(signs, Context(fill_policy({}))).reason == "Too small: 8 × 8 pixels."


def test_a_doubtful_submission_waits_as_a_whole():
    assert decide(submission_in_doubt="Many labels look wrong.") == "needs_review"


def test_unchecked_labels_wait_once_the_cold_start_is_used_up():
    unknown = Sign("labels", "not_enough_evidence")
    assert decide(unknown, cold_start_open=False) == "needs_review"
    assert decide(cold_start_open=False) == "accepted"


def doubt(outcome: str, share: float, low: float, usual: float, **policy) -> str:
    data = {"implausible": 40, "items": 100, "share": share, "interval": [low, 1.0], "among_accepted": usual}
    return doubt_submission(outcome, data, fill_policy(policy))


def test_a_submission_far_above_the_usual_share_waits_as_a_whole():
    assert "40 of 100" in doubt("suspect", 0.4, 0.31, 0.1)


@pytest.mark.parametrize(
    "outcome, low, usual, policy",
    [
        ("ok", 0.31, 0.1, {}),
        ("not_enough_evidence", 0.31, 0.1, {}),
        ("suspect", 0.15, 0.1, {}),
        ("suspect", 0.31, 0.1, {"doubt_margin": 0.5}),
    ],
)
def test_an_ordinary_share_or_a_small_difference_does_not(outcome, low, usual, policy):
    assert not doubt(outcome, 0.4, low, usual, **policy)


def test_without_numbers_nothing_is_doubted():
    assert not doubt_submission("not_enough_evidence", {}, fill_policy({}))


@pytest.mark.parametrize(
    "policy", [{"x": 1}, {"cold_start_limit": -1}, {"cold_start_limit": 1.5}, {"doubt_margin": True}]
)
def test_settings_that_make_no_sense_are_refused(policy):
    with pytest.raises(PolicyError) as refused:
        check_policy(policy)
    assert refused.value.faults.keys() == policy.keys()


def test_kinds_of_a_check_are_one_check():
    assert check_of("technical_image") == check_of("technical_text") == "technical"
    assert check_of("labels") == "labels"
