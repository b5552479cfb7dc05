"""Reading the chain: windows, repeated and rival steps, finality, reorganisations on a public and an embedded chain."""

import pytest

from ledger import service
from ledger.chain.fake import FakeChain
from ledger.errors import ChainUnavailable, InsufficientCredits, InsufficientTokens
from ledger.indexer import Indexer
from ledger.models import Account, Alarm, ChainEventRow, Cursor, IndexedBlock, Settlement
from ledger.reconcile import reconcile
from tests.ledger.world import ADA, CAMPAIGN, HYD, JOB, World, reward


@pytest.fixture
def public(db) -> World:
    """A public chain: blocks are mined by others, final after 3 confirmations."""
    world = World(FakeChain(automine=False), confirmations=3)
    service.fund_campaign(CAMPAIGN, 1000 * HYD, key="fund")
    return world


def confirm(world: World) -> None:
    for _ in range(3):
        world.send()
        world.chain.mine(4)
        world.index()


def test_reading_again_changes_nothing(funded):
    reward()
    funded.settle()
    rows, news = ChainEventRow.objects.count(), Settlement.objects.count()
    Cursor.objects.update(number=-1, hash="")
    funded.index()
    assert (ChainEventRow.objects.count(), Settlement.objects.count()) == (rows, news)
    assert Cursor.objects.get().number == 1


def test_two_indexers_post_once(funded):
    reward()
    funded.send()
    funded.chain.checkpoint()
    rival = Indexer(funded.chain)
    for indexer in (funded.indexer, rival, funded.indexer):
        indexer.step(funded.now)
    assert Settlement.objects.count() == 1
    assert service.balances(ADA).available == 10 * HYD


def test_a_cursor_that_another_moved_is_left_alone(funded):
    reward()
    funded.send()
    stale = funded.indexer.fetch_cursor()
    funded.index()
    moved = funded.indexer.read_window(stale, 1)
    assert moved.number == Cursor.objects.get().number == 1


def test_long_chains_are_read_by_windows(funded):
    reward()
    funded.send()
    funded.chain.mine_empty(9)
    funded.chain.checkpoint()
    funded.indexer.window = 4
    seen = []
    for _ in range(4):
        funded.index()
        seen.append(Cursor.objects.get().number)
    assert seen == [3, 7, 10, 10]
    assert funded.status("r1") == "settled"


def test_a_node_that_is_away_changes_nothing(funded):
    reward()
    funded.send()
    funded.chain.is_down = True
    with pytest.raises(ChainUnavailable):
        funded.index()
    funded.chain.is_down = False
    funded.chain.checkpoint()
    funded.index()
    assert funded.status("r1") == "settled"


def test_a_public_chain_is_final_after_n_confirmations(public):
    reward()
    public.send()
    public.chain.mine(3)
    public.index()
    assert public.status("r1") == "sent"
    public.chain.mine()
    public.index()
    assert public.status("r1") == "settled"


def test_a_shallow_reorganisation_pays_once(public):
    """S15 before finality: mined, gone, an empty block, mined again elsewhere."""
    reward()
    public.send()
    public.chain.mine()
    public.index()
    assert service.rewards(["r1"])["r1"].block == 1
    public.chain.reorg(1)
    public.index()
    assert service.rewards(["r1"])["r1"].block is None
    assert ChainEventRow.objects.filter(canonical=True).count() == 0
    public.chain.mine(5)
    public.index()
    entry = service.rewards(["r1"])["r1"]
    assert (entry.status, entry.block) == ("settled", 2)
    assert public.chain.totals().recorded == 10 * HYD
    assert [n.status for n in service.settlements_since(0)[0]] == ["settled"]


def test_a_deep_reorganisation_takes_final_money_back_and_brings_it_again(public):
    """S15: reward, unlock and lock are final and a job runs on them; then all of it is reorganised away."""
    reward(amount=50 * HYD)
    confirm(public)
    service.unlock_credits(ADA, 40 * HYD, key="u")
    confirm(public)
    service.lock_credits(ADA, JOB, 30 * HYD, key="l")
    confirm(public)
    assert service.escrow(JOB).status == "locked"
    assert service.balances(ADA).credits == 10 * HYD

    public.chain.reorg(len(public.chain.blocks) - 1, drop=True)
    public.index()
    held = service.balances(ADA)
    assert service.escrow(JOB).status == "pending"
    assert (held.available, held.credits, held.pending, held.earned_total) == (0, 0, 50 * HYD, 0)
    assert (
        not Account.objects.exclude(kind__in=["issuance"])
        .exclude(kind__startswith="short")
        .filter(balance__lt=0)
    )
    with pytest.raises(InsufficientTokens):
        service.unlock_credits(ADA, 1, key="more")
    with pytest.raises(InsufficientCredits):
        service.lock_credits(ADA, "job:two", 1, key="more")
    assert [n.status for n in service.settlements_since(0)[0]].count("unconfirmed") == 3

    for _ in range(3):
        confirm(public)
    assert service.escrow(JOB).status == "locked"
    held = service.balances(ADA)
    assert (held.available, held.credits, held.locked, held.pending) == (10 * HYD, 10 * HYD, 30 * HYD, 0)
    assert public.chain.totals().recorded == 50 * HYD
    assert reconcile(public.chain, public.indexer.name) == []


def test_a_chain_that_switches_while_it_is_read_is_read_again(public, monkeypatch):
    reward()
    public.send()
    public.chain.mine()
    original = public.chain.events

    def switching(first, last):
        monkeypatch.undo()
        answer = original(first, last)
        public.chain.reorg(1)
        return answer

    monkeypatch.setattr(public.chain, "events", switching)
    public.index()
    assert not ChainEventRow.objects.exists()
    public.chain.mine(4)
    public.index()
    assert public.status("r1") == "settled"


def test_a_block_that_comes_back_has_its_rows_again(public):
    reward()
    public.send()
    public.chain.mine()
    public.index()
    kept = public.chain.blocks[1]
    public.chain.reorg(1, drop=True)
    public.index()
    public.chain.blocks[1] = kept
    public.chain.mine_empty(3)
    public.chain.cut(len(public.chain.blocks))
    public.index()
    assert ChainEventRow.objects.filter(canonical=True).count() == 2
    assert ChainEventRow.objects.count() == 2
    assert public.status("r1") == "settled"


def test_events_that_differ_from_the_books_post_nothing(funded):
    reward()
    funded.send()
    funded.chain.checkpoint()
    block = funded.chain.blocks[1]
    block.events[0].args["amount"] = 11 * HYD
    funded.index()
    assert funded.status("r1") == "sent"
    assert Alarm.objects.get().code == "event-mismatch"
    assert "event-mismatch" in {finding.code for finding in reconcile(None, funded.indexer.name)}


def test_hashes_of_old_empty_blocks_are_forgotten(funded):
    reward()
    funded.settle()
    for _ in range(3):
        funded.chain.mine_empty(200)
        funded.chain.checkpoint()
        funded.index()
    assert list(IndexedBlock.objects.order_by("number").values_list("number", flat=True)) == [1, 401, 601]
