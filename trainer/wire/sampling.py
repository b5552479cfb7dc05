"""Which items a step trains on: an endless sequence of seeded permutations, cut into batches, cut into shares.

Pure Python and one generator per epoch, so that the market can list the items of any batch without training.
"""

import random
from functools import lru_cache


def batch_indices(seed: int, n_items: int, step: int, batch: int) -> list[int]:
    """Indices (over the train files' lines in manifest order) of step `step`, counted from 0.

    The sequence is perm(0) ++ perm(1) ++ …, where perm(e) shuffles range(n_items) with Random(f"{seed}:{e}"); a
    batch may run over an epoch's end, and then may hold an item twice. Cost: O(n_items) for each epoch touched.
    Raises: ValueError for sizes that are not positive.
    """
    return share_indices(seed, n_items, step, batch, 0, batch)


def share_indices(seed: int, n_items: int, step: int, batch: int, first: int, count: int) -> list[int]:
    """The part [first, first + count) of the step's batch."""
    if n_items < 1 or batch < 1 or step < 0 or first < 0 or count < 0 or first + count > batch:
        raise ValueError(
            f"no share [{first}, {first + count}) in a batch of {batch} from {n_items} items, step {step}"
        )
    position = step * batch + first
    indices: list[int] = []
    while len(indices) < count:
        epoch, offset = divmod(position + len(indices), n_items)
        indices += permutation(seed, n_items, epoch)[offset : offset + count - len(indices)]
    return indices


@lru_cache(maxsize=4)
def permutation(seed: int, n_items: int, epoch: int) -> list[int]:
    """The order of one epoch. The list is shared: do not change it."""
    order = list(range(n_items))
    random.Random(f"{seed}:{epoch}").shuffle(order)
    return order
