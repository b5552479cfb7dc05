"""Who is right about a round: nothing is committed that somebody does not hold, and nobody waits for ever."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.trainer.swarm.test_planning import PEERS, plan
from trainer.swarm.voting import Aborted, Ballot, Committed, Waiting, decide, find_culprits
from trainer.wire.messages import Accuse, Done, Unfit

DIGEST, OTHER = "ab" * 32, "cd" * 32
A, B, C = sorted(peer.peer_id for peer in PEERS[:3])
BACKBONE = PEERS[11]


def ballot(**changes):
    return Ballot(plan(3, watchers=[BACKBONE]), BACKBONE.peer_id, 100.0, **changes)


def done(digest=DIGEST):
    return Done(
        job="j",
        step=0,
        term=3,
        digest=digest,
        state_digest=None,
        samples=3,
        loss=0.1,
        compute_s=0.1,
        signature=None,
    )


def accuse(*suspects, evidence="slices"):
    return Accuse(job="j", step=0, term=3, suspects=suspects, evidence=evidence, reason="late")


def unfit(cause):
    return Unfit(job="j", step=0, term=3, cause=cause, reason="because")


ALL = {A: done(), B: done(), C: done()}


def test_committed_when_all_hold_the_backbones_result():
    assert decide(ballot(own_digest=DIGEST, done=ALL), 101.0) == Committed(DIGEST)


@pytest.mark.parametrize(
    "changes",
    [{"own_digest": DIGEST, "done": {A: done(), B: done()}}, {"own_digest": None, "done": ALL}, {}],
    ids=["one missing", "not here", "nothing"],
)
def test_waiting_while_somebody_does_not_hold_it(changes):
    assert isinstance(decide(ballot(**changes), 101.0), Waiting)


def test_a_member_that_died_after_it_was_done_counts():
    assert decide(ballot(own_digest=DIGEST, done=ALL, gone={B}), 101.0) == Committed(DIGEST)


def test_a_member_that_died_before_is_left_out():
    decision = decide(ballot(own_digest=DIGEST, done={A: done(), C: done()}, gone={B}), 101.0)
    assert isinstance(decision, Aborted) and decision.failed == {B}


def test_another_digest_is_the_failure_of_who_reports_it():
    decision = decide(ballot(own_digest=DIGEST, done={**ALL, C: done(OTHER)}), 101.0)
    assert isinstance(decision, Aborted) and decision.failed == {C}


def test_a_number_that_is_not_finite_is_told_apart_from_a_broken_peer():
    assert decide(ballot(unfit={A: unfit("not-finite")}), 101.0).diverged == {A}
    assert decide(ballot(unfit={A: unfit("compute")}), 101.0).diverged == set()


def test_accusations_are_judged_after_a_moment_for_more():
    accused = ballot(accused={A: accuse(B)}, first_accused=101.0)
    assert isinstance(decide(accused, 101.1), Waiting)
    assert decide(accused, 102.0).failed == {B}


def test_who_waits_for_a_slice_is_not_to_blame_for_its_late_result():
    accused = {A: accuse(B, C, evidence="results"), C: accuse(B)}
    assert decide(ballot(accused=accused, first_accused=101.0), 102.0).failed == {B}


def test_when_all_wait_for_results_somebody_is_still_to_blame():
    accused = {A: accuse(B, evidence="results"), B: accuse(A, evidence="results")}
    assert len(decide(ballot(accused=accused, first_accused=101.0), 102.0).failed) == 1


def test_the_time_is_limited_and_the_silent_fail():
    late = ballot(own_digest=DIGEST, done={A: done(), C: done()})
    assert decide(late, 200.0).failed == {B}


def test_when_only_the_backbone_lacks_the_result_its_owners_fail():
    assert decide(ballot(done=ALL, missing_owners=(C,)), 200.0).failed == {C}


def test_a_watcher_that_has_gone_holds_nothing_up():
    watched = Ballot(
        plan(3, watchers=[BACKBONE, PEERS[6]]), BACKBONE.peer_id, 100.0, own_digest=DIGEST, done=dict(ALL)
    )
    assert isinstance(decide(watched, 101.0), Waiting)
    watched.gone.add(PEERS[6].peer_id)
    assert decide(watched, 101.0) == Committed(DIGEST)


@pytest.mark.parametrize(
    "pairs, culprits",
    [
        ([("a", "b")], {"b"}),
        ([("a", "b"), ("c", "b")], {"b"}),
        ([("a", "b"), ("a", "c"), ("a", "d")], {"a"}),
        ([("a", "b"), ("b", "a"), ("c", "b")], {"b"}),
        ([], set()),
    ],
)
def test_the_fewest_peers_that_explain_the_accusations(pairs, culprits):
    assert find_culprits(pairs) == culprits


IDS = some.sampled_from([A, B, C])


@given(
    own=some.sampled_from([None, DIGEST, OTHER]),
    votes=some.dictionaries(IDS, some.sampled_from([DIGEST, OTHER])),
    gone=some.sets(IDS),
    accused=some.dictionaries(IDS, IDS),
    now=some.floats(100, 300),
)
def test_a_commit_always_means_that_every_live_peer_holds_one_result(own, votes, gone, accused, now):
    case = ballot(
        own_digest=own, done={peer: done(digest) for peer, digest in votes.items()}, gone=gone,
        accused={by: accuse(suspect) for by, suspect in accused.items()},
        first_accused=100.0 if accused else None,
    )  # fmt: skip
    decision = decide(case, now)
    if isinstance(decision, Committed):
        assert set(votes) == {A, B, C} and set(votes.values()) == {own}
    if isinstance(decision, Waiting):
        assert decision.until > now
