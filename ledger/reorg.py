"""How deep a reorganisation goes, and up to where the chain is final. Pure."""

from collections.abc import Callable, Sequence

Known = tuple[int, str]
"""(block number, block hash) as it was indexed."""


def find_fork(known: Sequence[Known], block_hash: Callable[[int], str | None]) -> int | None:
    """Returns the number of the highest known block that is still on the chain, None when none is.

    `known` ascends by number. A block on the chain has all its ancestors there, so the blocks that match come before
    those that do not, and a binary search is right.

    Cost: about log2(len(known)) + 1 questions to the node; one when nothing was reorganised.
    """
    if known and block_hash(known[-1][0]) == known[-1][1]:
        return known[-1][0]
    low, high = 0, len(known) - 1  # blocks before `low` match, those from `high` on do not
    while low < high:
        middle = (low + high) // 2
        number, expected = known[middle]
        if block_hash(number) == expected:
            low = middle + 1
        else:
            high = middle
    return known[low - 1][0] if low else None


def final_height(head: int, durable: int, confirmations: int) -> int:
    """Returns the highest final block: old enough, and on the node's disk (−1 where nothing is final yet)."""
    return max(min(head - confirmations, durable), -1)


def next_window(cursor: int, head: int, size: int) -> tuple[int, int] | None:
    """Returns the first and last block to read next, None when everything is read."""
    if head <= cursor:
        return None
    return cursor + 1, min(head, cursor + size)
