"""Reconciliation finds nothing where all is well, and each kind of difference where it is made."""

from types import SimpleNamespace

import pytest
from django.db import connection

from ledger import service
from ledger.chain.port import ChainEvent
from ledger.models import Account, Alarm, Batch, ChainEventRow, OutboxItem
from ledger.posting import owner_of
from ledger.reconcile import Finding, reconcile, sound_alarm
from ledger.totals import add_up
from tests.ledger.world import ADA, BOB, HYD, JOB, World, reward, rich


def codes(world: World) -> set[str]:
    return {finding.code for finding in reconcile(world.chain, world.indexer.name)}


@pytest.fixture
def busy(world) -> World:
    """Something in every place: settled, on its way, and still queued."""
    rich(world)
    service.lock_credits(ADA, JOB, 60 * HYD, key="l")
    world.settle()
    service.settle_job(JOB, 40 * HYD, [(BOB, 36 * HYD)], key="s")
    world.settle()
    reward("sent", BOB)
    service.unlock_credits(BOB, HYD, key="b")
    world.send()
    world.index()
    reward("queued", BOB)
    service.lock_credits(ADA, "job:two", HYD, key="l2")
    return world


def test_nothing_is_found_while_things_are_on_their_way(busy):
    assert codes(busy) == set()
    busy.settle()
    assert codes(busy) == set()


@pytest.mark.parametrize("stage", range(4))
def test_the_books_imply_the_contracts_sums_at_every_stage_of_a_settlement(world, stage):
    rich(world)
    service.lock_credits(ADA, JOB, 60 * HYD, key="l")
    world.settle()
    service.settle_job(JOB, 40 * HYD, [(BOB, 36 * HYD)], key="s")
    if stage:
        world.sender.pace = type(world.sender.pace)(in_flight=stage)
        world.send()
    if stage > 1:
        world.chain.checkpoint()
    world.index()
    assert codes(world) == set()


def test_a_balance_without_postings_is_found(busy):
    Account.objects.filter(kind="available", owner__ref=BOB).update(balance=1)
    assert {"balance", "sums"} <= codes(busy)


def test_an_outbox_that_forgot_an_operation_is_found(busy):
    OutboxItem.objects.filter(key="queued").update(amount=1)
    assert codes(busy) == {"in-flight"}


def test_a_batch_that_lost_an_item_is_found(busy):
    OutboxItem.objects.filter(key="sent").update(batch=None)
    assert "batch" in codes(busy)


def test_a_final_batch_without_its_events_is_found(busy):
    ChainEventRow.objects.filter(name="RewardRecorded").first().delete()
    assert {"events", "sums", "contract", "account"} <= codes(busy)


def test_an_event_of_a_stranger_is_found(busy):
    Batch.objects.filter(kind="lock").update(mined_tx="0xelse")
    assert "stranger" in codes(busy)


def test_a_contract_that_says_otherwise_is_found(busy):
    busy.chain.state.accounts[bytes.fromhex(owner_of(ADA).chain_id)].credits += 5
    found = {(finding.code, finding.subject) for finding in reconcile(busy.chain, busy.indexer.name)}
    assert found == {("contract", "credits"), ("contract", "recorded"), ("account", ADA)}


def test_an_indexer_that_is_behind_is_said_not_guessed(busy):
    busy.chain.mine_empty()
    assert codes(busy) == {"behind"}


def test_a_missing_guard_is_found(busy):
    with connection.cursor() as cursor:
        on = " ON ledger_posting" if connection.vendor == "postgresql" else ""
        cursor.execute(f"DROP TRIGGER ledger_posting_fixed{on}")
    assert codes(busy) == {"guard-missing"}


def test_the_alarm_follows_the_findings(busy):
    sound_alarm([Finding("sums", "credits", "1 and 2")], busy.now)
    sound_alarm([Finding("sums", "credits", "1 and 3")], busy.now)
    assert Alarm.objects.get(closed_at=None).detail.endswith("1 and 3")
    sound_alarm([], busy.now)
    assert not Alarm.objects.filter(closed_at=None).exists()


def deposit(world: World, ref: str, name: str, amount: int, index: int = 50) -> None:
    """A wallet's event in the newest block; the contract in memory has no wallets."""
    block = world.chain.blocks[-1]
    args = {"account": bytes.fromhex(ref), "wallet": "0x" + "ab" * 20, "amount": amount}
    event = ChainEvent(block.ref.number, block.ref.hash, f"0xwallet{index}", index, name, args)
    block.events.append(event)


def test_deposits_and_withdrawals_move_the_books_when_final_and_back_when_reorganised(funded):
    ada = owner_of(ADA).chain_id
    funded.chain.mine_empty()
    deposit(funded, ada, "Withdrawn", 2 * HYD, 51)
    reward()
    funded.send()
    deposit(funded, ada, "Withdrawn", 4 * HYD, 52)
    funded.index()
    assert service.balances(ADA).available == 0
    funded.chain.checkpoint()
    funded.index()
    books = service.totals().books
    assert (books["available"], books["wallets"], books["shortfall"]) == (4 * HYD, 6 * HYD, 0)
    funded.chain.durable = 1
    funded.chain.crash()
    funded.index()
    books = service.totals().books
    assert (books["available"], books["wallets"], books["pending"]) == (0, 2 * HYD, 10 * HYD)


def test_a_deposit_of_an_unknown_account_waits_and_is_found(funded):
    funded.chain.mine_empty()
    deposit(funded, "77" * 32, "Deposited", HYD)
    funded.chain.checkpoint()
    funded.index()
    assert "wallet" in {finding.code for finding in reconcile(None, funded.indexer.name)}
    assert service.totals().books["wallets"] == 0


def test_events_add_up_as_the_contract_does(busy):
    busy.settle()
    events = [(event.name, event.args) for event in busy.chain.events(0, 999)]
    totals = busy.chain.totals()
    assert add_up(events) == {name: getattr(totals, name) for name in add_up([])}
    assert SimpleNamespace(**add_up(events)).spent == 4 * HYD
