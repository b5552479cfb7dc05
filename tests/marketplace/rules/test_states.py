"""The tables of states: what ends has no way out, and every state that exists is in its table."""

import pytest

from marketplace import models
from marketplace.rules import states


@pytest.mark.parametrize(
    "table, kind",
    [
        (states.CAMPAIGN, models.Campaign.State),
        (states.SUBMISSION, models.Submission.State),
        (states.ITEM, models.Item.State),
        (states.JOB, models.Job.State),
        (states.RELEASE, models.Release.State),
    ],
)
def test_tables_and_models_know_the_same_states(table, kind):
    assert set(table) == set(kind.values)
    assert {new for following in table.values() for new in following} <= set(kind.values)


def test_money_that_was_settled_is_not_moved_again():
    for over in ("completed", "stopped", "cancelled", "failed"):
        assert not states.JOB[over]


def test_ignored_things_are_never_judged():
    assert not any(states.may_follow(states.ITEM, "ignored", new) for new in states.ITEM)


def test_sources_are_the_table_read_backwards():
    assert states.sources_of(states.ITEM, "accepted") == ["pending", "rejected", "duplicate"]


def test_nobody_judges_their_own_items():
    assert not states.why_not_judge(is_moderator=True, is_contributor=False)
    assert "moderator" in states.why_not_judge(is_moderator=False, is_contributor=False)
    assert "contributed" in states.why_not_judge(is_moderator=True, is_contributor=True)
