"""The door: each request with its refusals, idempotency, and what the books say afterwards."""

import pytest
from django.db import transaction

from ledger import service
from ledger.errors import (
    BadInput,
    BudgetExhausted,
    EscrowClosed,
    InsufficientCredits,
    InsufficientTokens,
    KeyReused,
    UnknownReward,
)
from ledger.evidence import Leaf, verifies
from ledger.models import Entry, OutboxItem
from tests.ledger.world import ADA, BOB, CAMPAIGN, HYD, JOB, OTHER, World, reward, rich


def test_a_budget_is_funded_once_for_each_key(db):
    for _ in range(2):
        service.fund_campaign(CAMPAIGN, 5 * HYD, key="f")
    service.fund_campaign(CAMPAIGN, HYD, key="g")
    assert service.campaign_budget(CAMPAIGN) == service.Budget(6 * HYD, 0, 0, 6 * HYD)
    for campaign, amount in ((CAMPAIGN, HYD), (OTHER, 5 * HYD)):
        with pytest.raises(KeyReused):
            service.fund_campaign(campaign, amount, key="f")


def test_an_unknown_campaign_and_user_hold_nothing(db):
    assert service.campaign_budget("campaign:none") == service.Budget(0, 0, 0, 0)
    assert service.balances("user:none") == service.Balances(0, 0, 0, 0, 0, 0, 0, 0)
    assert service.statement("user:none") == []


def test_reserving_twice_under_one_key_reserves_once(funded):
    assert reward() == reward()
    assert OutboxItem.objects.count() == 1
    assert service.campaign_budget(CAMPAIGN).reserved == 10 * HYD


@pytest.mark.parametrize("change", [{"amount": 11 * HYD}, {"user": BOB}, {"campaign": OTHER}])
def test_a_key_with_another_body_is_refused(funded, change):
    reward()
    with pytest.raises(KeyReused):
        reward(**change)
    assert OutboxItem.objects.count() == 1


def test_a_reward_beyond_the_budget_leaves_no_trace(funded):
    reward(amount=999 * HYD)
    with pytest.raises(BudgetExhausted) as error:
        reward("r2", amount=2 * HYD)
    assert error.value.remaining == HYD
    assert not OutboxItem.objects.filter(key="r2").exists()
    assert reward("r2", amount=HYD).status == "reserved"


@pytest.mark.parametrize("amount", [0, -5, 1.0])
def test_an_amount_that_is_none_is_refused(funded, amount):
    with pytest.raises(BadInput):
        reward(amount=amount)


def test_evidence_must_be_a_hash(funded):
    with pytest.raises(BadInput, match="32 bytes"):
        service.reserve_reward(service.RewardRequest("k", CAMPAIGN, ADA, "item:1", HYD, b"short", "1"))


def test_a_cancelled_reservation_returns_to_the_budget(funded):
    reward()
    for _ in range(2):
        assert service.cancel_reward("r1", reason="appeal").status == "cancelled"
    assert service.campaign_budget(CAMPAIGN).remaining == 1000 * HYD
    assert service.balances(ADA).pending == 0
    funded.settle()
    assert funded.status("r1") == "cancelled"
    assert funded.chain.totals().recorded == 0


def test_a_reward_that_is_unknown_cannot_be_cancelled(db):
    with pytest.raises(UnknownReward):
        service.cancel_reward("none", reason="")


def test_a_reward_cancelled_after_it_settled_is_held_back_from_the_next(funded):
    """10 wrongly paid; of the next 6 all is held back, of the next 9 the other 4: 10 + 0 + 5 were paid in the end."""
    reward("wrong", amount=10 * HYD)
    funded.settle()
    cancelled = service.cancel_reward("wrong", reason="fraud")
    assert (cancelled.status, cancelled.offset) == ("settled", 10 * HYD)
    held = reward("next", amount=6 * HYD)
    assert (held.status, held.paid, held.number) == ("settled", 0, None)
    assert reward("third", amount=9 * HYD).paid == 5 * HYD
    assert reward("fourth", amount=HYD).paid == HYD
    funded.settle()
    assert service.balances(ADA).available == 16 * HYD
    assert service.rewards(["wrong"])["wrong"].offset == 0
    assert service.campaign_budget(CAMPAIGN) == service.Budget(1000 * HYD, 0, 16 * HYD, 984 * HYD)


def test_held_back_parts_are_owed_again_when_the_reward_is_cancelled(funded):
    reward("wrong", amount=10 * HYD)
    funded.settle()
    service.cancel_reward("wrong", reason="fraud")
    reward("next", amount=6 * HYD)
    service.cancel_reward("next", reason="appeal")
    assert service.rewards(["wrong"])["wrong"].offset == 10 * HYD
    assert service.campaign_budget(CAMPAIGN).remaining == 990 * HYD


def test_another_users_reward_is_not_held_back(funded):
    reward("wrong")
    funded.settle()
    service.cancel_reward("wrong", reason="fraud")
    assert reward("bobs", BOB).paid == 10 * HYD


def test_unlocking_more_than_is_available_is_refused(funded):
    reward()
    funded.settle()
    service.unlock_credits(ADA, 7 * HYD, key="u")
    with pytest.raises(InsufficientTokens) as error:
        service.unlock_credits(ADA, 4 * HYD, key="v")
    assert error.value.available == 3 * HYD
    service.unlock_credits(ADA, 3 * HYD, key="v")


def test_unlock_and_lock_are_idempotent_and_their_keys_are_not_reusable(world):
    rich(world)
    assert service.unlock_credits(ADA, 100 * HYD, key="rich").status == "settled"
    with pytest.raises(KeyReused):
        service.unlock_credits(ADA, HYD, key="rich")
    assert service.lock_credits(ADA, JOB, HYD, key="l") == service.lock_credits(ADA, JOB, HYD, key="l")
    with pytest.raises(KeyReused):
        service.lock_credits(ADA, JOB, 2 * HYD, key="l")
    with pytest.raises(EscrowClosed):
        service.lock_credits(ADA, JOB, HYD, key="other")
    assert service.balances(ADA).credits == 99 * HYD


def test_two_jobs_cannot_share_one_credit(world):
    rich(world)
    service.lock_credits(ADA, JOB, 60 * HYD, key="a")
    with pytest.raises(InsufficientCredits) as error:
        service.lock_credits(ADA, "job:two", 60 * HYD, key="b")
    assert error.value.credits == 40 * HYD
    with pytest.raises(EscrowClosed, match="missing"):
        service.escrow("job:two")


@pytest.mark.parametrize(
    "used, payouts", [(61, []), (-1, []), (10, [(BOB, 11)]), (10, [(BOB, 6), (BOB, 5)]), (10, [(BOB, -1)])]
)
def test_a_settlement_that_does_not_add_up_is_refused(world, used, payouts):
    rich(world)
    service.lock_credits(ADA, JOB, 60 * HYD, key="l")
    world.settle()
    with pytest.raises(BadInput):
        service.settle_job(JOB, used * HYD, [(ref, amount * HYD) for ref, amount in payouts], key="s")
    assert service.escrow(JOB).status == "locked"


def test_a_job_that_used_nothing_settles_to_nothing(world):
    rich(world)
    service.lock_credits(ADA, JOB, 60 * HYD, key="l")
    world.settle()
    service.settle_job(JOB, 0, [], key="s")
    world.settle()
    assert service.escrow(JOB).status == "settled"
    assert service.balances(ADA).credits == 100 * HYD


def test_settle_and_release_exclude_each_other(world):
    rich(world)
    service.lock_credits(ADA, JOB, 60 * HYD, key="l")
    world.settle()
    service.settle_job(JOB, HYD, [], key="s")
    assert service.settle_job(JOB, HYD, [], key="s").status == "settling"
    with pytest.raises(KeyReused):
        service.settle_job(JOB, 2 * HYD, [], key="s")
    with pytest.raises(EscrowClosed):
        service.release_job(JOB, key="r")


@pytest.mark.parametrize("step", ["settle", "release"])
def test_a_job_without_an_escrow_has_nothing_to_close(db, step):
    with pytest.raises(EscrowClosed, match="missing"):
        service.settle_job(JOB, 0, [], key="s") if step == "settle" else service.release_job(JOB, key="s")


def test_many_volunteers_are_paid_in_numbered_chunks(world):
    rich(world, amount=700 * HYD)
    service.lock_credits(ADA, JOB, 700 * HYD, key="l")
    world.settle()
    service.settle_job(JOB, 700 * HYD, [(f"user:{i:03}", HYD) for i in range(650)], key="s")
    assert OutboxItem.objects.filter(kind="pay").count() == 3
    world.settle()
    assert service.escrow(JOB).status == "settled"
    assert world.chain.totals().paid == 650 * HYD
    assert service.balances("user:649").available == HYD


def test_the_statement_tells_each_move_and_pages(world):
    rich(world, amount=10 * HYD)
    lines = service.statement(ADA)
    told = [(line.kind, line.account, line.amount // HYD) for line in reversed(lines)]
    assert told[0] == ("reward", "pending", 10)
    assert set(told[1:3]) == {("reward", "pending", -10), ("reward", "available", 10)}
    assert set(told[3:5]) == {("unlock", "available", -10), ("unlock", "unlocking", 10)}
    assert set(told[5:]) == {("unlock", "unlocking", -10), ("unlock", "credits", 10)}
    assert {line.status for line in lines} == {"settled"}
    assert {line.kind for line in service.statement(ADA, kind="reward")} == {"reward"}
    assert lines[0].tx_hash.startswith("0x")
    assert lines[-1].label_ref == "item:rich"
    first = service.statement(ADA, limit=3)
    assert first + service.statement(ADA, before=first[-1].id) == lines


def test_news_comes_once_in_order_and_can_be_replayed(funded):
    reward()
    reward("r2")
    assert service.settlements_since(0) == ([], 0)
    funded.settle()
    news, cursor = service.settlements_since(0, limit=1)
    assert [(n.kind, n.key, n.ref, n.status) for n in news] == [("reward", "r1", "item:r1", "settled")]
    more, last = service.settlements_since(cursor)
    assert [n.key for n in more] == ["r2"]
    assert service.settlements_since(last) == ([], last)
    assert service.settlements_since(0)[0] == news + more


def test_a_stranger_can_check_a_reward_against_the_root_on_chain(funded):
    for key in ("a", "b", "c"):
        reward(key)
    with pytest.raises(UnknownReward):
        service.reward_proof("b")
    funded.settle()
    proof = service.reward_proof("b")
    event = next(e for e in funded.chain.events(0, 99) if e.name == "BatchRecorded")
    leaf = Leaf(
        proof.number, bytes.fromhex(proof.contribution), bytes.fromhex(proof.evidence), proof.policy_version
    )
    siblings = [bytes.fromhex(sibling) for sibling in proof.siblings]
    assert verifies(leaf, siblings, event.args["evidenceRoot"])
    assert not verifies(leaf, siblings[::-1] + [bytes(32)], event.args["evidenceRoot"])


def test_totals_put_books_and_chain_side_by_side(funded):
    reward()
    funded.settle()
    totals = service.totals()
    assert (totals.books["issuance"], totals.books["budget"]) == (-1000 * HYD, 990 * HYD)
    assert totals.books["available"] == totals.chain["available"] == totals.chain["recorded"] == 10 * HYD
    assert totals.books["shortfall"] == 0


def test_the_networks_state_is_told_without_asking_a_node(funded: World):
    assert service.network_status() == service.ChainStatus(-1, -1, -1, 0, None, False)
    reward()
    funded.settle()
    reward("r2")
    status = service.network_status(now=funded.now)
    assert status == service.ChainStatus(1, 1, 1, 1, 0.0, True)
    funded.wait(60)
    assert not service.network_status(now=funded.now).reachable


def test_a_rolled_back_request_leaves_nothing(funded):
    before = Entry.objects.count()
    with transaction.atomic():
        reward()
        transaction.set_rollback(True)
    assert Entry.objects.count() == before
    assert service.rewards(["r1"]) == {}
