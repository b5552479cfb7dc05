"""The sampler: every item once an epoch, the same on every machine, shares that tile the batch."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as some

from trainer.wire.sampling import batch_indices, share_indices

SIZES = {"n_items": some.integers(1, 60), "batch": some.integers(1, 70), "seed": some.integers(0, 99)}


@given(**SIZES, steps=some.integers(1, 6))
def test_batches_are_slices_of_one_sequence_of_permutations(n_items, batch, seed, steps):
    drawn = [index for step in range(steps) for index in batch_indices(seed, n_items, step, batch)]
    assert len(drawn) == steps * batch
    for epoch in range(len(drawn) // n_items):
        assert sorted(drawn[epoch * n_items : (epoch + 1) * n_items]) == list(range(n_items))


@given(**SIZES, step=some.integers(0, 50), cuts=some.lists(some.integers(0, 70), max_size=4))
def test_shares_tile_the_batch(n_items, batch, seed, step, cuts):
    edges = [0, *sorted(min(cut, batch) for cut in cuts), batch]
    parts = [
        share_indices(seed, n_items, step, batch, first, last - first)
        for first, last in itertools.pairwise(edges)
    ]
    assert [index for part in parts for index in part] == batch_indices(seed, n_items, step, batch)


def test_the_sequence_is_the_one_that_the_protocol_names():
    order = list(range(10))
    random.Random("7:0").shuffle(order)
    assert batch_indices(7, 10, 0, 10) == order
    assert batch_indices(7, 10, 1, 4) == order[4:8]


def test_another_seed_gives_another_order():
    assert batch_indices(1, 100, 0, 100) != batch_indices(2, 100, 0, 100)


@pytest.mark.parametrize("wrong", [(0, 0, 0, 1), (0, 5, 0, 0), (0, 5, -1, 1)])
def test_sizes_that_mean_nothing_are_refused(wrong):
    with pytest.raises(ValueError, match="share"):
        batch_indices(*wrong)


def test_a_share_beyond_the_batch_is_refused():
    with pytest.raises(ValueError, match="share"):
        share_indices(0, 10, 0, 4, 2, 3)
