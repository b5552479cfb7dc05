"""S13 on a database that lets writers in at once: each effect once, no balance crossed, nobody deadlocked."""

import threading
from collections.abc import Callable

import pytest
from django.db import connection, connections

from ledger import service
from ledger.errors import BudgetExhausted, InsufficientCredits, InsufficientTokens, KeyReused, LedgerError
from ledger.models import Batch, OutboxItem
from ledger.reconcile import reconcile
from ledger.sender import Sender
from tests.ledger.world import ADA, BOB, CAMPAIGN, HYD, World, reward, rich

pytestmark = [pytest.mark.services, pytest.mark.django_db(transaction=True)]
THREADS = 8


@pytest.fixture(autouse=True)
def _needs_postgresql():
    if connection.vendor != "postgresql":
        pytest.skip("SQLite admits one writer at a time; set DATABASE_URL to a PostgreSQL")


def at_once(work: Callable[[int], object]) -> list[object]:
    """Runs the work in threads that start together; returns what each gave, an error of the ledger as itself."""
    barrier, results = threading.Barrier(THREADS), [None] * THREADS

    def run(number: int) -> None:
        barrier.wait()
        try:
            results[number] = work(number)
        except LedgerError as error:
            results[number] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def kinds(results: list[object], kind: type) -> int:
    return sum(isinstance(result, kind) for result in results)


def test_one_key_at_once_reserves_once():
    service.fund_campaign(CAMPAIGN, 100 * HYD, key="f")
    results = at_once(lambda number: reward())
    assert kinds(results, service.RewardEntry) == THREADS
    assert OutboxItem.objects.count() == 1
    assert service.balances(ADA).pending == 10 * HYD


def test_one_key_with_two_bodies_at_once_reserves_one_of_them():
    service.fund_campaign(CAMPAIGN, 100 * HYD, key="f")
    results = at_once(lambda number: reward(amount=(1 + number % 2) * HYD))
    assert (kinds(results, service.RewardEntry), kinds(results, KeyReused)) == (THREADS // 2, THREADS // 2)
    assert OutboxItem.objects.count() == 1


def test_a_budget_is_not_spent_twice():
    service.fund_campaign(CAMPAIGN, 50 * HYD, key="f")
    results = at_once(lambda number: reward(f"r{number}", f"user:{number}"))
    assert (kinds(results, service.RewardEntry), kinds(results, BudgetExhausted)) == (5, THREADS - 5)
    assert service.campaign_budget(CAMPAIGN).remaining == 0


def test_a_campaign_is_funded_once_for_a_key():
    assert at_once(lambda number: service.fund_campaign(CAMPAIGN, HYD, key="f")) == [None] * THREADS
    assert service.campaign_budget(CAMPAIGN).funded == HYD


def test_tokens_and_credits_are_not_spent_twice():
    world = World()
    rich(world)
    reward("more", amount=30 * HYD)
    world.settle()
    unlocked = at_once(lambda number: service.unlock_credits(ADA, 10 * HYD, key=f"u{number}"))
    assert (kinds(unlocked, service.Unlock), kinds(unlocked, InsufficientTokens)) == (3, THREADS - 3)
    locked = at_once(lambda number: service.lock_credits(ADA, f"job:{number}", 25 * HYD, key=f"l{number}"))
    assert (kinds(locked, service.Escrow), kinds(locked, InsufficientCredits)) == (4, THREADS - 4)
    assert service.balances(ADA).credits == 0
    world.settle()
    assert reconcile(world.chain, world.indexer.name) == []


def test_requests_senders_and_indexers_at_once_settle_each_reward_once():
    world = World()
    service.fund_campaign(CAMPAIGN, 1000 * HYD, key="f")
    lock = threading.Lock()  # the chain in memory is no server

    def work(number: int) -> None:
        for turn in range(6):
            if number < 4:
                reward(f"r{number}.{turn}", (ADA, BOB)[turn % 2], HYD)
            elif number < 6:
                with lock:
                    Sender(world.chain, f"sender {number}", world.sender.pace).step(world.now)
                    world.chain.checkpoint()
            else:
                with lock:
                    world.index()

    assert at_once(work) == [None] * THREADS
    world.settle(rounds=4)
    assert world.chain.totals().recorded == 24 * HYD
    assert service.balances(ADA).available == service.balances(BOB).available == 12 * HYD
    assert sum(Batch.objects.values_list("count", flat=True)) == 24
    assert len(service.settlements_since(0)[0]) == 24
    assert reconcile(world.chain, world.indexer.name) == []
