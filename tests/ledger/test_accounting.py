"""Every event's postings, with figures that a person can add up, and the invariants over all of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import accounting as books
from ledger.accounting import Kind, Slot
from ledger.errors import BadInput, UnbalancedPosting

ADA, BOB, ONE, TWO, JOB = "user:ada", "user:bob", "campaign:one", "campaign:two", "job:one"
amounts = st.integers(1, books.MAX_AMOUNT // 8)


def at(kind: Kind, ref: str = books.SYSTEM) -> Slot:
    return Slot(kind, ref)


def test_funding_issues_what_the_budget_gets():
    assert books.fund(ONE, 500) == {at(Kind.ISSUANCE): -500, at(Kind.BUDGET, ONE): 500}


def test_a_reward_goes_from_budget_over_pending_to_available():
    reward = books.Reward(ONE, ADA, 30)
    assert books.request(reward) == {at(Kind.BUDGET, ONE): -30, at(Kind.PENDING, ADA): 30}
    assert books.settle(reward) == {at(Kind.PENDING, ADA): -30, at(Kind.AVAILABLE, ADA): 30}
    assert books.refuse(reward) == {at(Kind.PENDING, ADA): -30, at(Kind.BUDGET, ONE): 30}


def test_what_is_held_back_goes_to_the_campaign_that_had_paid_for_nothing():
    reward = books.Reward(ONE, ADA, 30, ((TWO, 12),))
    assert books.request(reward) == {
        at(Kind.BUDGET, ONE): -30,
        at(Kind.PENDING, ADA): 18,
        at(Kind.BUDGET, TWO): 12,
    }
    assert books.settle(reward) == {at(Kind.PENDING, ADA): -18, at(Kind.AVAILABLE, ADA): 18}


def test_a_settled_job_pays_burns_and_returns():
    """Locked 100, used 60, volunteers get 54 (90 %), 6 are burned, 40 return."""
    job = books.Settle(ADA, JOB, 100, 60, ((BOB, 54),))
    assert books.request(job) == {
        at(Kind.ESCROW, JOB): -100,
        at(Kind.RETURNING, JOB): 40,
        at(Kind.BURNING, JOB): 6,
        at(Kind.PAYABLE, BOB): 54,
    }
    assert books.settle(job) == {
        at(Kind.RETURNING, JOB): -40,
        at(Kind.CREDITS, ADA): 40,
        at(Kind.BURNING, JOB): -6,
        at(Kind.BURNED): 6,
    }
    chunk = books.Pay(JOB, ((BOB, 54),))
    assert books.request(chunk) == {}
    assert books.settle(chunk) == {at(Kind.PAYABLE, BOB): -54, at(Kind.AVAILABLE, BOB): 54}


def test_a_refused_settlement_and_its_refused_payouts_put_the_escrow_together_again():
    job, chunk = books.Settle(ADA, JOB, 100, 60, ((BOB, 54),)), books.Pay(JOB, ((BOB, 54),))
    back = (
        books.refuse(job)[at(Kind.ESCROW, JOB)]
        + books.refuse(chunk, settle_refused=True)[at(Kind.ESCROW, JOB)]
    )
    assert back == 100
    assert books.refuse(chunk)[at(Kind.UNPAID, JOB)] == 54


def test_an_amount_that_moved_on_leaves_a_shortfall_which_fills_first():
    available, short = at(Kind.AVAILABLE, ADA), at(Kind.SHORT_AVAILABLE, ADA)
    taken = books.absorb({available: -10}, {available: 3})
    assert taken == {available: -3, short: -7}
    assert books.absorb({available: 8}, {available: 0, short: -7}) == {available: 1, short: 7}


def test_places_without_a_shortfall_are_left_to_the_database():
    assert books.absorb({at(Kind.PENDING, ADA): -10}, {}) == {at(Kind.PENDING, ADA): -10}


def test_unbalanced_postings_are_our_own_mistake():
    with pytest.raises(UnbalancedPosting) as error:
        books.balanced("test", {at(Kind.BUDGET, ONE): 1})
    assert error.value.total == 1


@pytest.mark.parametrize("amount", [0, -1, books.MAX_AMOUNT + 1, True, 1.5, "1", None])
def test_an_amount_that_is_none_is_refused(amount):
    with pytest.raises(BadInput):
        books.check_amount("amount", amount)


def test_amounts_in_range_pass():
    assert books.check_amount("used", 0, low=0) == 0
    assert books.check_amount("amount", books.MAX_AMOUNT) == books.MAX_AMOUNT


@st.composite
def operations(draw):
    amount = draw(amounts)
    shares = draw(st.lists(st.tuples(st.sampled_from([BOB, "user:cay"]), st.integers(1, amount)), max_size=3))
    payouts, left = [], amount
    for ref, share in shares:
        share = min(share, left)
        if share:
            payouts.append((ref, share))
            left -= share
    pays = tuple(payouts)
    return draw(
        st.sampled_from(
            [
                books.Reward(ONE, ADA, amount, tuple((TWO, share) for _, share in pays)),
                books.Unlock(ADA, amount),
                books.Lock(ADA, JOB, amount),
                books.Settle(ADA, JOB, amount + draw(st.integers(0, 9)), amount, pays),
                books.Pay(JOB, pays),
                books.Release(ADA, JOB, amount),
            ]
        )
    )


@given(operations(), st.booleans())
def test_all_postings_sum_to_zero_and_no_operation_is_left_in_flight(operation, settle_refused):
    requested, settled = books.request(operation), books.settle(operation)
    refused = books.refuse(operation, settle_refused=settle_refused)
    for moves in (requested, settled, refused):
        assert sum(moves.values()) == 0
        assert all(moves.values())
    in_flight = {Kind.PENDING, Kind.UNLOCKING, Kind.LOCKING, Kind.RETURNING, Kind.BURNING}
    for after in (settled, refused):
        left = {
            slot: requested.get(slot, 0) + after.get(slot, 0) for slot in requested if slot.kind in in_flight
        }
        assert not any(left.values())


@given(st.lists(st.integers(-50, 50), max_size=20))
def test_place_and_shortfall_are_the_true_figure_and_never_cross_zero(steps):
    place, short = at(Kind.CREDITS, ADA), at(Kind.SHORT_CREDITS, ADA)
    standing = {place: 0, short: 0}
    for amount in steps:
        before = sum(standing.values())
        for slot, part in books.absorb({place: amount}, standing).items():
            standing[slot] += part
        assert sum(standing.values()) == before + amount
        assert standing[place] >= 0 >= standing[short]
        assert standing[place] == 0 or standing[short] == 0
