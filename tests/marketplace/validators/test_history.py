"""What was decided before about the same content, in words."""

from marketplace.validators.history import Rejection, check

CROSS = Rejection("a", "cross", "This is a ring.")
RING = Rejection("b", "ring", "Blurred.")


def test_nothing_rejected_says_nothing():
    assert check("cross", []) is None


def test_the_rejection_under_the_same_label_is_told_first():
    found = check("cross", [CROSS, RING])
    assert found is not None
    assert (found.outcome, found.reasons) == (
        "suspect",
        ("The same content was rejected before: This is a ring.",),
    )
    assert found.data == {"of": "a", "same_label": True, "times": 2}


def test_another_label_is_named():
    found = check("star", [CROSS, RING])
    assert found is not None
    assert found.reasons == ("The same content was rejected before as “ring”: Blurred.",)
    assert found.data["same_label"] is False
