"""Decisions of the outbox that need neither rows nor clocks: what to seal together, what to hold back, where an escrow
stands. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ledger.chain.port import MAX_BATCH


@dataclass(frozen=True)
class Queued:
    """An item that waits to be sealed."""

    id: int
    is_reward: bool
    age_s: float


def plan_batches(queue: Sequence[Queued], *, max_age_s: float, max_batch: int = MAX_BATCH) -> list[list[int]]:
    """Returns the ids to seal, batch by batch, in the queue's order; what is left out waits for company.

    Neighbouring rewards share a batch; any other operation is a batch of its own. The order of the queue is kept, so
    an operation behind young rewards takes them along instead of overtaking them.
    """
    runs: list[list[Queued]] = []
    for item in queue:
        if runs and item.is_reward and runs[-1][0].is_reward and len(runs[-1]) < max_batch:
            runs[-1].append(item)
        else:
            runs.append([item])
    if runs and runs[-1][0].is_reward and not is_ripe(runs[-1], max_age_s, max_batch):
        runs.pop()
    return [[item.id for item in run] for run in runs]


def is_ripe(run: Sequence[Queued], max_age_s: float, max_batch: int) -> bool:
    return len(run) >= max_batch or max(item.age_s for item in run) >= max_age_s


def split_offsets(amount: int, owed: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns (offset id, part) for what is held back from a reward of `amount`: the oldest debts first.

    Example: 10 against debts 4, 3, 9 holds back 4, 3 and 3.
    """
    parts, left = [], amount
    for offset_id, remaining in owed:
        part = min(left, remaining)
        if part > 0:
            parts.append((offset_id, part))
            left -= part
    return parts


def escrow_status(lock: str, closing: str | None, payouts: Sequence[str], *, is_release: bool = False) -> str:
    """Returns an escrow's status from the statuses of its operations (OutboxItem.Status).

    `closing`: of the latest settle or release, None before there was one; `payouts`: of a settlement's chunks.
    """
    if lock == "reverted":
        return "failed"
    if closing not in {None, "reverted"}:
        if is_release:
            return "released" if closing == "final" else "settling"
        is_done = all(status == "final" for status in (closing, *payouts))
        return "settled" if is_done else "settling"
    return "locked" if lock == "final" else "pending"


def chunks(
    payouts: Sequence[tuple[str, int]], size: int = MAX_BATCH
) -> list[tuple[int, list[tuple[str, int]]]]:
    """Returns (number of the first payout, payouts) for each call that pays a settled job's volunteers."""
    return [(first, list(payouts[first : first + size])) for first in range(0, len(payouts), size)]
