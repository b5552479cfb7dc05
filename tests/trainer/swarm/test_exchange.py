"""The sums: exact, the same bytes whatever arrives first, and nothing believed that is not the sender's to say."""

import random

import numpy as np
import pytest

from tests.trainer.swarm.test_planning import PEERS
from trainer.errors import BadMessage
from trainer.swarm.exchange import Exchange, Memory
from trainer.swarm.planning import Course, Turn, plan_round
from trainer.wire.messages import Part

IDS = sorted(peer.peer_id for peer in PEERS)


def make(n_peers, size=50, dtype="float64", batch=97, watchers=()):
    course = Course("j", batch, 1, 100, size, dtype)
    return plan_round(
        course, Turn(0, 1, 10.0), sorted(PEERS, key=lambda peer: peer.peer_id)[:n_peers], watchers
    )


def vectors(plan, seed=0):
    random_ = np.random.default_rng(seed)
    return {share.peer_id: random_.normal(size=plan.size).astype(plan.dtype) for share in plan.members}


def deliver(exchanges, frames, order):
    """Hands over parts in an order that keeps each sender's own."""
    queues = [list(frame_list) for frame_list in frames if frame_list]
    while queues:
        queue = order.choice(queues)
        sender, to, part, payload = queue.pop(0)
        exchanges[to].accept(sender, part, payload)
        queues = [queue for queue in queues if queue]


def run_round(plan, own, seed=0):
    """Everybody's exchange after a whole round, with arrivals shuffled by `seed`."""
    order = random.Random(seed)
    peers = [*own, *(watcher.peer_id for watcher in plan.watchers)]
    exchanges = {peer: Exchange(plan, peer, Memory()) for peer in peers}
    slices = []
    for peer, vector in own.items():
        exchanges[peer].own = vector
        for index, span in enumerate(plan.spans):
            if span.owner != peer:
                slices.append([(peer, span.owner, *cut) for cut in exchanges[peer].slices_for(index)])
    deliver(exchanges, slices, order)
    means = []
    for index, span in enumerate(plan.spans):
        assert exchanges[span.owner].sum_span(index) == ()
        for to in peers:
            if to != span.owner:
                means.append([(span.owner, to, *cut) for cut in exchanges[span.owner].means_of(index)])
    deliver(exchanges, means, order)
    return exchanges


def expected(plan, own):
    total = sum(own[share.peer_id].astype(np.float64) * share.count for share in plan.members)
    return total / plan.batch


@pytest.mark.parametrize("n_peers", range(2, 9))
def test_the_mean_is_weighted_by_samples_and_exact_in_float64(n_peers):
    plan = make(n_peers)
    own = vectors(plan)
    for exchange in run_round(plan, own).values():
        assert np.abs(exchange.result - expected(plan, own)).max() < 1e-12


@pytest.mark.parametrize("n_peers", range(2, 9))
def test_everybody_holds_the_same_bytes_in_float32_whatever_arrives_first(n_peers):
    plan = make(n_peers, dtype="float32", watchers=[PEERS[11]] if n_peers < 9 else [])
    own = vectors(plan)
    digests = {exchange.digest() for seed in range(3) for exchange in run_round(plan, own, seed).values()}
    assert len(digests) == 1


def test_equal_vectors_have_themselves_as_mean():
    plan = make(3)
    own = {share.peer_id: np.full(plan.size, 0.1) for share in plan.members}
    assert np.abs(run_round(plan, own)[IDS[0]].result - 0.1).max() < 1e-15


def test_a_vector_that_takes_many_parts_comes_out_whole():
    plan = make(2, size=600_000, dtype="float32")
    own = vectors(plan)
    exchanges = run_round(plan, own)
    assert np.allclose(exchanges[IDS[0]].result, expected(plan, own), atol=1e-6)
    assert sum(1 for _ in exchanges[IDS[0]].slices_for(1)) == 2


def test_values_that_are_not_finite_are_traced_to_their_sender():
    plan = make(3)
    own = vectors(plan)
    exchange = Exchange(plan, IDS[0], Memory())
    exchange.own = own[IDS[0]]
    poisoned = Exchange(plan, IDS[1], Memory())
    poisoned.own = own[IDS[1]] * np.nan
    honest = Exchange(plan, IDS[2], Memory())
    honest.own = own[IDS[2]]
    for sender in (poisoned, honest):
        for part, payload in sender.slices_for(0):
            exchange.accept(sender.me, part, payload)
    assert exchange.sum_span(0) == (IDS[1],)


def part(phase="slice", span=0, offset=0, count=2):
    return Part(job="j", step=0, term=1, phase=phase, span=span, offset=offset, count=count)


@pytest.mark.parametrize(
    "sender, said, size",
    [
        (IDS[1], part(span=1), 16),  # not my span
        (IDS[9], part(), 16),  # no member
        (IDS[0], part(), 16),  # myself
        (IDS[1], part("mean", span=0), 16),  # not its span
        (IDS[1], part(span=99), 16),
        (IDS[1], part(offset=1), 16),  # a gap
        (IDS[1], part(count=1000), 8000),  # too long
        (IDS[1], part(), 15),  # bytes that do not match
    ],
)
def test_what_is_not_the_senders_to_say_is_refused(sender, said, size):
    exchange = Exchange(make(3), IDS[0], Memory())
    before = exchange.result.copy()
    with pytest.raises(BadMessage):
        exchange.accept(sender, said, memoryview(bytearray(size)))
    assert exchange.place(sender, said.to_header(), size) is None
    assert (exchange.result == before).all()


def test_nothing_is_taken_twice():
    exchange = Exchange(make(3), IDS[0], Memory())
    exchange.accept(IDS[1], part(), memoryview(bytearray(16)))
    with pytest.raises(BadMessage, match="2 was next"):
        exchange.accept(IDS[1], part(), memoryview(bytearray(16)))


def test_who_is_missing_is_known():
    plan = make(3)
    exchange = Exchange(plan, IDS[0], Memory())
    assert exchange.missing_senders() == (IDS[1], IDS[2])
    assert exchange.missing_owners() == tuple(IDS[:3])


def test_memory_is_used_again_after_a_clean_round_and_never_after_another():
    memory = Memory()
    first = Exchange(make(2), IDS[0], memory)
    first.close(clean=True)
    second = Exchange(make(2), IDS[0], memory)
    assert second.result is first.result
    second.close(clean=False)
    assert Exchange(make(2), IDS[0], memory).result is not second.result


def test_memory_of_peers_that_have_gone_is_freed():
    memory = Memory()
    Exchange(make(4), IDS[0], memory).close(clean=True)
    Exchange(make(2), IDS[0], memory).close(clean=True)
    assert len(memory._arrays) == 2  # the result, and one other peer's slice
