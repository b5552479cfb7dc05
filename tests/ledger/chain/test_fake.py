"""What only the fake can do on demand: faults of a broadcast, a node that lags, is down, or falls back to its checkpoint."""

import pytest

from ledger.chain.fake import FakeChain, Fault
from ledger.chain.port import RecordRewards, SignedTx, Unlock
from ledger.errors import ChainUnavailable, TxRejected

ADA, OP, ROOT = b"a" * 32, b"o" * 32, b"r" * 32


def reward(chain: FakeChain, number: int, *, nonce: int | None = None) -> SignedTx:
    nonce = chain.mined_nonce("recorder") if nonce is None else nonce
    call = RecordRewards(number, (ADA,), (10,), ROOT)
    return chain.sign(call, role="recorder", nonce=nonce, fee=chain.suggest_fee())


def test_a_lost_broadcast_never_happened() -> None:
    chain, tx = FakeChain(), reward(FakeChain(), 0)
    chain.faults.append(Fault.LOST)
    with pytest.raises(ChainUnavailable):
        chain.broadcast(tx.raw)
    assert chain.find_receipt(tx.hash) is None
    chain.broadcast(tx.raw)
    assert chain.totals().recorded == 10


def test_an_unknown_outcome_happened_once() -> None:
    chain, tx = FakeChain(), reward(FakeChain(), 0)
    chain.faults.append(Fault.UNKNOWN)
    with pytest.raises(ChainUnavailable):
        chain.broadcast(tx.raw)
    assert chain.find_receipt(tx.hash) is not None
    chain.broadcast(tx.raw)
    assert chain.totals().recorded == 10


def test_faults_come_in_their_order_and_are_used_up() -> None:
    chain = FakeChain()
    chain.faults.extend([None, Fault.REFUSED])
    chain.broadcast(reward(chain, 0).raw)
    tx = reward(chain, 1)
    with pytest.raises(TxRejected):
        chain.broadcast(tx.raw)
    chain.broadcast(tx.raw)
    assert chain.totals().recorded == 20


def test_a_node_that_is_down_answers_nothing() -> None:
    chain = FakeChain()
    tx = reward(chain, 0)
    chain.is_down = True
    for question in (
        chain.head,
        chain.totals,
        chain.suggest_fee,
        lambda: chain.broadcast(tx.raw),
        lambda: chain.events(0, 1),
    ):
        with pytest.raises(ChainUnavailable):
            question()
    chain.is_down = False
    assert chain.head().number == 0


def test_a_lagging_node_tells_of_an_earlier_chain() -> None:
    chain = FakeChain()
    first, second = reward(chain, 0, nonce=0), reward(chain, 1, nonce=1)
    chain.broadcast(first.raw)
    chain.broadcast(second.raw)
    chain.lag = 1
    assert chain.head().number == 1
    assert chain.block_hash(2) is None
    assert chain.find_receipt(second.hash) is None
    assert len(chain.events(0, 9)) == 2
    assert (chain.totals().recorded, chain.account(ADA).available, chain.mined_nonce("recorder")) == (
        10,
        10,
        1,
    )
    chain.lag = 0
    assert (chain.totals().recorded, chain.mined_nonce("recorder")) == (20, 2)


def test_after_a_reorganisation_the_lost_transactions_wait() -> None:
    chain = FakeChain()
    tx = reward(chain, 0)
    chain.broadcast(tx.raw)
    old = chain.head()
    chain.reorg(1)
    assert chain.head().number == old.number
    assert chain.head().hash != old.hash
    assert chain.find_receipt(tx.hash) is None
    chain.mine()
    assert chain.totals().recorded == 10


def test_a_dropped_transaction_is_gone_until_it_is_sent_again() -> None:
    chain = FakeChain()
    tx = reward(chain, 0)
    chain.broadcast(tx.raw)
    chain.reorg(1, drop=True)
    chain.mine()
    assert chain.totals().recorded == 0
    chain.broadcast(tx.raw)
    assert chain.totals().recorded == 10


def test_there_is_no_reorganisation_past_the_genesis() -> None:
    chain = FakeChain()
    chain.mine(2)
    for depth in (0, 3):
        with pytest.raises(ValueError, match="cannot replace"):
            chain.reorg(depth)


def test_a_crash_falls_back_to_the_checkpoint_and_resending_restores_all() -> None:
    chain = FakeChain(is_embedded=True)
    txs = [reward(chain, number, nonce=number) for number in range(4)]
    for tx in txs[:2]:
        chain.broadcast(tx.raw)
    chain.checkpoint()
    for tx in txs[2:]:
        chain.broadcast(tx.raw)
    assert (chain.head().number, chain.durable_height()) == (4, 2)
    chain.crash()
    assert (chain.head().number, chain.durable_height(), chain.totals().recorded) == (2, 2, 20)
    for tx in txs:
        chain.broadcast(tx.raw)
    assert chain.totals().recorded == 40


def test_the_order_across_keys_can_be_kept_by_mining_on_demand() -> None:
    chain = FakeChain(automine=False)
    fee = chain.suggest_fee()
    chain.broadcast(reward(chain, 0).raw)
    unlock = chain.sign(Unlock(ADA, 4, OP), role="spender", nonce=0, fee=fee)
    chain.broadcast(unlock.raw)
    chain.mine()
    assert chain.account(ADA).credits == 4


def test_the_window_opens_again_with_time() -> None:
    now = [1_900_000_800]
    chain = FakeChain(window_cap=10, window_s=3600, clock=lambda: now[0])
    chain.broadcast(reward(chain, 0).raw)
    refused = reward(chain, 1)
    chain.broadcast(refused.raw)
    now[0] += 3600
    chain.broadcast(reward(chain, 1).raw)
    receipt = chain.find_receipt(refused.hash)
    assert receipt is not None
    assert receipt.revert_reason == "WindowCapExceeded"
    assert chain.totals().recorded == 20
