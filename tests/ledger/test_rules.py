"""What is sealed together, what is held back, where an escrow stands, how deep a reorganisation goes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.evidence import Leaf, proof_of, root_of, verifies
from ledger.reorg import final_height, find_fork, next_window
from ledger.rules import Queued, chunks, escrow_status, plan_batches, split_offsets


def queue(*kinds: str, age_s: float = 0) -> list[Queued]:
    return [Queued(i, kind == "r", age_s) for i, kind in enumerate(kinds)]


def test_young_rewards_wait_for_company():
    assert plan_batches(queue("r", "r"), max_age_s=1) == []


def test_old_rewards_go_together():
    assert plan_batches(queue("r", "r", age_s=1), max_age_s=1) == [[0, 1]]


def test_a_full_batch_waits_for_nobody_and_the_rest_waits_on():
    assert plan_batches(queue("r", "r", "r"), max_age_s=1, max_batch=2) == [[0, 1]]


def test_an_operation_behind_young_rewards_takes_them_along():
    assert plan_batches(queue("r", "u", "r"), max_age_s=1) == [[0], [1]]


@given(st.lists(st.sampled_from("rul"), max_size=30), st.integers(1, 5))
def test_the_order_of_the_queue_is_kept(kinds, size):
    plan = plan_batches(queue(*kinds, age_s=2), max_age_s=1, max_batch=size)
    assert [pk for ids in plan for pk in ids] == list(range(len(kinds)))
    assert all(len(ids) <= size for ids in plan)


def test_the_oldest_debts_are_held_back_first():
    assert split_offsets(10, [(1, 4), (2, 3), (3, 9)]) == [(1, 4), (2, 3), (3, 3)]
    assert split_offsets(10, []) == []


@pytest.mark.parametrize(
    "lock, closing, payouts, is_release, status",
    [
        ("queued", None, [], False, "pending"),
        ("sent", None, [], False, "pending"),
        ("final", None, [], False, "locked"),
        ("reverted", None, [], False, "failed"),
        ("final", "sent", [], False, "settling"),
        ("final", "final", ["final", "sent"], False, "settling"),
        ("final", "final", ["final", "final"], False, "settled"),
        ("final", "final", [], False, "settled"),
        ("final", "reverted", ["reverted"], False, "locked"),
        ("reverted", "sent", [], True, "failed"),
        ("final", "sealed", [], True, "settling"),
        ("final", "final", [], True, "released"),
    ],
)
def test_an_escrow_stands_where_its_operations_stand(lock, closing, payouts, is_release, status):
    assert escrow_status(lock, closing, payouts, is_release=is_release) == status


def test_payouts_are_cut_into_numbered_calls():
    shares = [(f"user:{i}", 1) for i in range(5)]
    assert [(first, len(part)) for first, part in chunks(shares, 2)] == [(0, 2), (2, 2), (4, 1)]
    assert chunks([]) == []


@given(st.integers(0, 12), st.integers(0, 12), st.lists(st.booleans(), min_size=25, max_size=25))
def test_the_fork_is_the_highest_known_block_that_both_chains_share(shared, grown, kept):
    known = [(n, f"old{n}") for n in range(25) if kept[n]]

    def block_hash(number: int) -> str | None:
        if number < shared:
            return f"old{number}"
        return f"new{number}" if number < shared + grown else None

    expected = [number for number, _ in known if number < shared]
    assert find_fork(known, block_hash) == (expected[-1] if expected else None)


def test_final_is_deep_enough_and_durable():
    assert final_height(100, 100, 12) == 88
    assert final_height(100, 40, 0) == 40
    assert final_height(3, 3, 12) == -1


def test_windows_end_at_the_head():
    assert next_window(-1, 10, 4) == (0, 3)
    assert next_window(8, 10, 4) == (9, 10)
    assert next_window(10, 10, 4) is None


@given(st.integers(1, 20))
def test_every_reward_of_a_batch_can_be_proven(count):
    leaves = [Leaf(i, bytes([i]) * 32, bytes(32), "1") for i in range(count)]
    root = root_of(leaves)
    assert all(verifies(leaf, proof_of(leaves, i), root) for i, leaf in enumerate(leaves))


def test_another_evidence_number_or_policy_proves_nothing():
    leaves = [Leaf(i, bytes(32), bytes(32), "1") for i in range(5)]
    proof, root = proof_of(leaves, 2), root_of(leaves)
    for forged in (
        Leaf(3, bytes(32), bytes(32), "1"),
        Leaf(2, bytes(32), bytes([1]) * 32, "1"),
        Leaf(2, bytes(32), bytes(32), "2"),
    ):
        assert not verifies(forged, proof, root)
