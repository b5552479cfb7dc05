"""Shares tile the batch, spans tile the vector, whoever takes part."""

from hypothesis import given
from hypothesis import strategies as some

from trainer.identity import from_seed
from trainer.swarm.planning import Course, Turn, limit_round, plan_round, split_evenly
from trainer.wire.messages import Address

PEERS = [Address(peer_id=from_seed(bytes([n + 1]) * 32).peer_id, host="h", port=n + 1) for n in range(12)]


def plan(n_peers, batch=10, size=7, step=0, watchers=()):
    course = Course("j", batch, 1, 100, size, "float32")
    return plan_round(course, Turn(step, 3, 10.0), PEERS[:n_peers], watchers)


@given(some.integers(0, 500), some.integers(1, 20))
def test_an_even_split_tiles_with_parts_that_differ_by_one_at_most(total, parts):
    cuts = split_evenly(total, parts)
    assert [first for first, _ in cuts] == [sum(count for _, count in cuts[:n]) for n in range(len(cuts))]
    assert sum(count for _, count in cuts) == total
    sizes = {count for _, count in cuts}
    assert not sizes or (min(sizes) >= 1 and max(sizes) - min(sizes) <= 1)


@given(some.integers(1, 12), some.integers(1, 40), some.integers(1, 40), some.integers(0, 30))
def test_every_plan_is_one_that_members_accept(n_peers, batch, size, step):
    made = plan(n_peers, batch, size, step)  # Plan itself checks that shares and spans tile
    everybody = {share.peer_id for share in made.members} | {peer.peer_id for peer in made.watchers}
    assert everybody == {peer.peer_id for peer in PEERS[:n_peers]}
    assert len(made.members) == min(n_peers, batch)


def test_the_order_of_members_is_that_of_their_ids_whatever_the_order_of_arrival():
    course, turn = Course("j", 10, 1, 100, 7, "float32"), Turn(0, 3, 10.0)
    assert plan_round(course, turn, PEERS[:4], []) == plan_round(course, turn, PEERS[3::-1], [])


def test_with_more_peers_than_samples_each_gets_its_turn():
    seated = [{share.peer_id for share in plan(3, batch=1, step=step).members} for step in range(3)]
    assert len(set.union(*seated)) == 3


def test_watchers_own_nothing():
    made = plan(2, watchers=[PEERS[5]])
    assert PEERS[5] in made.watchers
    assert PEERS[5].peer_id not in {span.owner for span in made.spans}


def test_a_round_may_last_eight_times_the_slowest_and_never_too_little():
    assert limit_round([], least_s=10, first_s=60) == 60
    assert limit_round([0.1, 0.2], least_s=10, first_s=60) == 10
    assert limit_round([2.0, 5.0], least_s=10, first_s=60) == 40
