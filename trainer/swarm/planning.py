"""Who computes what, who sums what, and for how long a round may last. Pure: no clock, no network, no generator."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from trainer.wire.messages import Address, Plan, Share, Span


@dataclass(frozen=True)
class Course:
    """What stays the same over the rounds of a job."""

    job: str
    batch: int
    seed: int
    n_items: int
    size: int
    dtype: str


@dataclass(frozen=True)
class Turn:
    """What changes from round to round."""

    step: int
    term: int
    limit_s: float
    check_state: bool = False


def split_evenly(total: int, parts: int) -> list[tuple[int, int]]:
    """(first, count) of at most `parts` contiguous parts that tile `total`; sizes differ by one at most, none is 0."""
    parts = min(total, parts)
    size, rest = divmod(total, parts) if parts else (0, 0)
    counts = [size + (index < rest) for index in range(parts)]
    return [(sum(counts[:index]), count) for index, count in enumerate(counts)]


def plan_round(course: Course, turn: Turn, peers: Collection[Address], watchers: Sequence[Address]) -> Plan:
    """Equal shares and equal spans over `peers`, in the order of their ids.

    With more peers than samples, those left over watch; who that is moves with the step. `watchers` get the result
    and add nothing (the backbone, peers barred from this step).
    """
    ordered = sorted(peers, key=lambda peer: peer.peer_id)
    start = turn.step % len(ordered)
    seated = sorted((ordered[start:] + ordered[:start])[: course.batch], key=lambda peer: peer.peer_id)
    idle = [peer for peer in ordered if peer not in seated]
    shares = split_evenly(course.batch, len(seated))
    spans = split_evenly(course.size, len(seated))
    return Plan(
        job=course.job, step=turn.step, term=turn.term, batch=course.batch, seed=course.seed, n_items=course.n_items,
        size=course.size, dtype=course.dtype, limit_s=turn.limit_s, check_state=turn.check_state,
        members=tuple(
            Share(peer_id=peer.peer_id, host=peer.host, port=peer.port, first=first, count=count)
            for peer, (first, count) in zip(seated, shares, strict=True)
        ),
        spans=tuple(
            Span(owner=peer.peer_id, first=first, count=count)
            for peer, (first, count) in zip(seated, spans, strict=False)
        ),
        watchers=(*idle, *watchers),
    )  # fmt: skip


def limit_round(recent_s: Sequence[float], *, least_s: float, first_s: float) -> float:
    """How long a round may last before the silent are accused: eight times the slowest of the recent ones.

    `first_s` while nothing is known; never under `least_s`, so that a busy machine is not taken for a dead one.
    """
    return max(least_s, 8 * max(recent_s)) if recent_s else first_s
