"""The way to the chain: lost and unknown outcomes, kills, rewinds, refusals; each effect exactly once."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ledger import service
from ledger.chain import port
from ledger.chain.fake import FakeChain, Fault
from ledger.errors import ChainUnavailable, TxRejected
from ledger.models import Alarm, Batch, ChainTx, OutboxItem
from ledger.reconcile import reconcile
from ledger.sender import Pace, Sender
from tests.ledger.world import ADA, BOB, HYD, JOB, World, reward, rich


def findings(world: World) -> list:
    return reconcile(world.chain, world.indexer.name)


def test_neighbouring_rewards_share_a_batch_with_numbers_in_sequence(funded):
    for i in range(5):
        reward(f"r{i}")
    funded.settle()
    assert Batch.objects.count() == 1
    assert [service.rewards([f"r{i}"])[f"r{i}"].number for i in range(5)] == [1, 2, 3, 4, 5]


def test_young_rewards_wait(funded):
    reward()
    funded.now = OutboxItem.objects.get().created_at
    assert funded.send(after_s=0.5) == 0
    assert funded.status("r1") == "reserved"
    assert funded.send(after_s=0.6) == 1


def test_no_batch_exceeds_the_contracts_limit(funded):
    for i in range(301):
        reward(f"r{i}", amount=HYD)
    funded.settle()
    assert list(Batch.objects.order_by("id").values_list("first", "count")) == [(1, 300), (301, 1)]
    assert findings(funded) == []


def test_a_sealed_batch_does_not_change_by_a_cancellation(funded):
    reward()
    funded.chain.faults.append(Fault.LOST)
    with pytest.raises(ChainUnavailable):
        funded.send()
    call = Batch.objects.get().call
    service.cancel_reward("r1", reason="late")
    funded.settle()
    assert Batch.objects.get().call == call
    assert funded.status("r1") == "settled"


@pytest.mark.parametrize("fault", [Fault.LOST, Fault.UNKNOWN])
def test_an_unknown_outcome_sends_the_same_bytes_again(funded, fault):
    """S14: whether or not the node took it before the connection broke, one transaction, one event."""
    reward()
    funded.chain.faults.append(fault)
    with pytest.raises(ChainUnavailable):
        funded.send()
    raw = bytes(ChainTx.objects.get().raw)
    funded.settle()
    assert bytes(ChainTx.objects.get().raw) == raw
    assert funded.status("r1") == "settled"
    assert funded.chain.totals().recorded == 10 * HYD
    assert [n.status for n in service.settlements_since(0)[0]] == ["settled"]


class Killed(BaseException):
    """A kill -9, as far as Python can play it: nothing after it runs."""


@pytest.mark.parametrize("method", ["mined_nonce", "suggest_fee", "sign", "broadcast", "find_receipt"])
@pytest.mark.parametrize("is_after", [False, True])
@pytest.mark.parametrize("call", [1, 2, 3])
def test_a_kill_before_or_after_any_question_to_the_node_loses_nothing(
    world, monkeypatch, method, is_after, call
):
    """S14: the sender dies there, another process takes over when the lease has run out."""
    rich(world)
    reward("r1", BOB)
    service.lock_credits(ADA, JOB, 60 * HYD, key="l")
    original, calls = getattr(world.chain, method), []

    def deadly(*args, **kwargs):
        calls.append(method)
        if len(calls) == call and not is_after:
            raise Killed
        answer = original(*args, **kwargs)
        if len(calls) == call:
            raise Killed
        return answer

    monkeypatch.setattr(world.chain, method, deadly)
    for _ in range(3):
        try:
            world.send()
        except Killed:
            break
    monkeypatch.undo()
    world.sender = Sender(world.chain, "successor")
    world.settle(rounds=4)
    assert world.status("r1") == "settled"
    assert service.escrow(JOB).status == "locked"
    assert world.chain.totals().recorded == 110 * HYD
    assert findings(world) == []


def test_two_senders_do_not_both_send(funded):
    rival = Sender(funded.chain, "rival")
    reward()
    funded.send()
    reward("r2")
    funded.wait(2)
    assert rival.step(funded.now) == 0
    assert funded.status("r2") == "reserved"
    funded.wait(60)
    assert rival.step(funded.now) == 1


def test_a_lease_given_up_is_free_at_once(funded):
    reward()
    funded.sender.take_lease(funded.now)
    funded.sender.give_up_lease(funded.now)
    funded.wait(2)
    assert Sender(funded.chain, "rival").step(funded.now) == 1


def test_a_node_that_falls_back_gets_everything_again_in_the_outboxs_order(world):
    """Reward, unlock, lock and settlement under two keys; the node loses them all at once."""
    rich(world)
    reward("r1", BOB)
    world.send()
    service.lock_credits(ADA, JOB, 60 * HYD, key="l")
    service.settle_job(JOB, 10 * HYD, [(BOB, 9 * HYD)], key="s")
    world.send()
    world.index()
    hashes = list(ChainTx.objects.order_by("id").values_list("hash", flat=True))
    world.chain.crash()
    assert world.chain.totals().recorded == 100 * HYD
    world.settle()
    assert list(ChainTx.objects.order_by("id").values_list("hash", flat=True)) == hashes
    assert world.status("r1") == "settled"
    assert service.escrow(JOB).status == "settled"
    assert service.balances(BOB).available == 19 * HYD
    assert findings(world) == []


def test_a_chain_that_lost_everything_is_filled_again(world):
    """Even what was final: an older checkpoint was restored."""
    rich(world)
    service.lock_credits(ADA, JOB, 60 * HYD, key="l")
    world.settle()
    world.chain.durable = 0
    world.chain.crash()
    world.index()
    assert service.balances(ADA).credits == 0
    assert service.escrow(JOB).status == "pending"
    world.settle(rounds=4)
    assert service.escrow(JOB).status == "locked"
    assert service.balances(ADA).credits == 40 * HYD
    assert findings(world) == []


def test_a_revert_reverses_the_reservation(db):
    world = World(FakeChain(is_embedded=True, window_cap=15 * HYD))
    service.fund_campaign("campaign:one", 1000 * HYD, key="f")
    reward(amount=16 * HYD)
    world.send()
    world.index()
    assert world.status("r1") == "sent"  # seen, but a rewind could still change it
    world.settle()
    assert world.status("r1") == "reverted"
    assert Batch.objects.get().revert_reason == "WindowCapExceeded"
    assert service.campaign_budget("campaign:one").remaining == 1000 * HYD
    assert service.balances(ADA).pending == 0
    assert [n.status for n in service.settlements_since(0)[0]] == ["reverted"]
    reward("r2", amount=15 * HYD)
    world.settle()
    assert service.rewards(["r2"])["r2"].number == 2
    assert findings(world) == []


def test_bytes_that_the_node_refuses_raise_an_alarm_and_are_kept(funded):
    reward()
    funded.chain.faults.append(Fault.REFUSED)
    with pytest.raises(TxRejected):
        funded.send()
    assert Alarm.objects.get(closed_at=None).code == "tx-rejected"
    funded.settle()
    assert funded.status("r1") == "settled"
    assert not Alarm.objects.filter(closed_at=None).exists()


def test_a_fee_that_is_too_low_is_replaced_with_the_same_call(funded):
    funded.chain.automine = False
    reward()
    funded.send()
    quiet = funded.chain.suggest_fee()
    funded.chain.suggest_fee = lambda: quiet.bumped().bumped()
    funded.send(after_s=10)
    assert ChainTx.objects.count() == 1  # not yet
    funded.send(after_s=100)
    first, second = ChainTx.objects.order_by("attempt")
    assert (first.nonce, first.batch_id) == (second.nonce, second.batch_id)
    assert second.fee["max_per_gas"] > first.fee["max_per_gas"]
    funded.chain.mine()
    funded.chain.checkpoint()
    funded.index()
    assert funded.status("r1") == "settled"
    assert Batch.objects.get().mined_tx == second.hash
    assert findings(funded) == []


def steal_nonce(world: World) -> None:
    """Somebody else uses the recorder's key."""
    call = port.RecordRewards(9000, (b"\x07" * 32,), (1,), bytes(32))
    nonce = world.chain.mined_nonce("recorder")
    signed = world.chain.sign(call, role="recorder", nonce=nonce, fee=world.chain.suggest_fee())
    world.chain.broadcast(signed.raw)


def test_a_nonce_taken_by_a_stranger_is_noticed_and_signed_anew(funded):
    reward()
    funded.chain.faults.append(Fault.LOST)
    with pytest.raises(ChainUnavailable):
        funded.send()
    steal_nonce(funded)
    funded.settle()
    assert funded.status("r1") == "settled"
    assert Alarm.objects.get(code="nonce-taken")
    assert [tx.nonce for tx in ChainTx.objects.order_by("attempt")] == [0, 1]
    assert "stranger" in {finding.code for finding in findings(funded)}


def test_a_gap_left_by_a_stranger_is_filled(funded):
    reward()
    funded.chain.faults.append(Fault.LOST)
    with pytest.raises(ChainUnavailable):
        funded.send()
    steal_nonce(funded)
    funded.send()
    funded.chain.durable = 0
    funded.chain.crash()  # the stranger's transaction is gone, nonce 0 is free again
    funded.settle(rounds=4)
    assert funded.status("r1") == "settled"
    assert funded.chain.totals().recorded == 10 * HYD


def test_books_younger_than_the_contract_begin_beyond_its_numbers(funded):
    steal_nonce(funded)
    reward()
    funded.settle()
    assert service.rewards(["r1"])["r1"].number == 9001


def test_few_batches_are_on_their_way_at_once(funded):
    funded.chain.automine = False
    funded.sender = Sender(funded.chain, "test", Pace(in_flight=2))
    for i in range(4):
        reward(f"r{i}")
        funded.send()
    assert ChainTx.objects.exclude(broadcast_at=None).count() == 2
    funded.chain.mine()
    funded.index()
    funded.send()
    assert ChainTx.objects.exclude(broadcast_at=None).count() == 4


def test_another_key_waits_until_everything_before_it_is_mined(world):
    rich(world)
    world.chain.automine = False
    reward("r1", BOB)
    world.send()
    service.lock_credits(ADA, JOB, HYD, key="l")
    world.send()
    assert ChainTx.objects.filter(batch__kind="lock").count() == 0
    world.chain.mine()
    world.send()
    assert ChainTx.objects.filter(batch__kind="lock").count() == 1


def test_idle_programs_write_nothing(funded):
    """SQLite has one writer: what only waits must not take turns with the pages."""
    reward()
    funded.settle()
    funded.sender.take_lease(funded.now)
    funded.index()
    with CaptureQueriesContext(connection) as captured:
        assert funded.sender.step(funded.now) == 0
        assert funded.index() == 0
    statements = [query["sql"].split()[0] for query in captured.captured_queries]
    assert set(statements) == {"SELECT"}
