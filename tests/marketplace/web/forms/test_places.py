"""Machine places in the form's words."""

import pytest

from marketplace.web.forms.places import in_words


@pytest.mark.parametrize(
    "place, text, words",
    [
        ("title", "3 to 120 characters", "3 to 120 characters"),
        ("classes.1", "'a' is there twice", "Line 2: 'a' is there twice"),
        ("columns.1.name", "'age' is there twice", "Line 2: 'age' is there twice"),
        ("columns.0.name", "1 to 80 characters", "Line 1: a name has 1 to 80 characters"),
        ("columns.0.low", "not above high", "Line 1: the lower limit is above the upper one"),
        ("columns.2.values.0", "printable characters only", "Line 3, value 1: printable characters only"),
        ("attributes.0.targets", "the shares sum to 1.4, not to 1", "Group 1: the shares sum to 140 %, not 100 %"),
        ("attributes.1.targets", "the shares sum to 1.1, more than 1", "Group 2: the shares sum to 110 %, more than 100 %"),
        ("attributes.0.values.1", "'f' is there twice", "Group 1, line 2: 'f' is there twice"),
    ],
)  # fmt: skip
def test_a_place_is_told_as_it_was_typed(place, text, words) -> None:
    assert in_words(place, text) == words
