"""One suite for every chain: what it says of the fake must hold on a real node, or the ledger's tests prove nothing."""

import time
from collections.abc import Iterator
from typing import Protocol

import pytest

from ledger.chain.fake import FakeChain
from ledger.chain.port import (
    EVENT_ARGS,
    SIGNER,
    AccountState,
    Call,
    Chain,
    Lock,
    PayWorkers,
    Receipt,
    RecordRewards,
    Release,
    Role,
    Settle,
    SignedTx,
    Unlock,
)
from ledger.errors import BadCall, NonceTooLow, ReplacementUnderpriced, TxRejected
from tests.ledger.chain.conftest import LIMITS
from tests.ledger.chain.node import AnvilNode

ADA, BOB, CAY = (bytes([i]) * 32 for i in (0xA, 0xB, 0xC))
JOB, OTHER_JOB, OP, ROOT = (letter * 32 for letter in (b"j", b"k", b"o", b"r"))

PATIENCE_S = 5


class Handle(Protocol):
    """A chain and the moves that are no part of the port."""

    chain: Chain

    def mine(self, blocks: int = 1) -> None: ...

    def set_automine(self, on: bool) -> None: ...

    def reorg(self, depth: int) -> None:
        """Replaces the last blocks by empty ones, for good."""


class FakeHandle:
    def __init__(self) -> None:
        self.chain = FakeChain(window_cap=LIMITS.window_cap, window_s=LIMITS.window_s)

    def mine(self, blocks: int = 1) -> None:
        self.chain.mine(blocks)

    def set_automine(self, on: bool) -> None:
        self.chain.automine = on

    def reorg(self, depth: int) -> None:
        self.chain.reorg(depth, drop=True)


class AnvilHandle:
    def __init__(self, node: AnvilNode) -> None:
        self.node, self.chain = node, node.open(durable_file=None)

    def mine(self, blocks: int = 1) -> None:
        self.node.ask("anvil_mine", hex(blocks))

    def set_automine(self, on: bool) -> None:
        self.node.ask("evm_setAutomine", on)

    def reorg(self, depth: int) -> None:
        self.node.ask("anvil_reorg", depth, [])


@pytest.fixture(params=["fake", pytest.param("anvil", marks=pytest.mark.anvil)])
def handle(request: pytest.FixtureRequest) -> Iterator[Handle]:
    if request.param == "fake":
        return FakeHandle()
    return AnvilHandle(request.getfixturevalue("anvil"))


@pytest.fixture
def chain(handle: Handle) -> Chain:
    return handle.chain


def signed(chain: Chain, call: Call, *, nonce: int | None = None, role: Role | None = None) -> SignedTx:
    role = role or SIGNER[type(call)]
    return chain.sign(
        call, role=role, nonce=chain.mined_nonce(role) if nonce is None else nonce, fee=chain.suggest_fee()
    )


def send(chain: Chain, call: Call, **options) -> SignedTx:
    tx = signed(chain, call, **options)
    chain.broadcast(tx.raw)
    return tx


def receipt_of(chain: Chain, tx: SignedTx) -> Receipt:
    """The receipt of a transaction whose turn it is. A node mines a moment after it has answered the broadcast."""
    deadline = time.monotonic() + PATIENCE_S
    while (receipt := chain.find_receipt(tx.hash)) is None:
        assert time.monotonic() < deadline, f"{tx.hash} was not mined"
    return receipt


def does(chain: Chain, call: Call) -> SignedTx:
    tx = send(chain, call)
    receipt = receipt_of(chain, tx)
    assert receipt.status, receipt.revert_reason
    return tx


def reverts(chain: Chain, call: Call, **options) -> str | None:
    tx = send(chain, call, **options)
    receipt = receipt_of(chain, tx)
    assert not receipt.status
    return receipt.revert_reason


def reward(chain: Chain, *amounts: int, account: bytes = ADA, first: int | None = None) -> SignedTx:
    first = chain.totals().next_number if first is None else first
    return does(chain, RecordRewards(first, (account,) * len(amounts), amounts, ROOT))


def lock(chain: Chain, amount: int, job: bytes = JOB) -> None:
    reward(chain, amount)
    does(chain, Unlock(ADA, amount, job))
    does(chain, Lock(ADA, job, amount))


# -- signing and sending


def test_the_same_call_signs_to_the_same_bytes_and_stays_unsent(chain: Chain) -> None:
    call, fee = Unlock(ADA, 1, OP), chain.suggest_fee()
    first, second = (chain.sign(call, role="spender", nonce=0, fee=fee) for _ in range(2))
    assert first == second
    assert first.hash.startswith("0x")
    assert len(first.hash) == 66
    assert chain.find_receipt(first.hash) is None
    assert chain.mined_nonce("spender") == 0


def test_another_nonce_or_fee_is_another_transaction(chain: Chain) -> None:
    call, fee = Unlock(ADA, 1, OP), chain.suggest_fee()
    hashes = {
        chain.sign(call, role="spender", nonce=n, fee=f).hash
        for n, f in [(0, fee), (1, fee), (0, fee.bumped())]
    }
    assert len(hashes) == 3


@pytest.mark.parametrize(
    "call",
    [
        RecordRewards(0, (ADA,), (1, 2), ROOT),
        RecordRewards(0, (b"short",), (1,), ROOT),
        RecordRewards(-1, (ADA,), (1,), ROOT),
        RecordRewards(0, (ADA,), (-1,), ROOT),
        Unlock(ADA, 2**128, OP),
        Lock(ADA, b"job", 1),
        PayWorkers(JOB, 0, (ADA,), (), ),
    ],
    ids=lambda call: type(call).__name__,
)  # fmt: skip
def test_what_cannot_be_encoded_is_not_signed(chain: Chain, call: Call) -> None:
    with pytest.raises(BadCall):
        signed(chain, call)


def test_sending_the_same_bytes_again_changes_nothing(handle: Handle) -> None:
    chain = handle.chain
    handle.set_automine(False)
    tx = send(chain, RecordRewards(0, (ADA,), (5,), ROOT))
    chain.broadcast(tx.raw)  # it waits
    handle.mine()
    chain.broadcast(tx.raw)  # it is mined
    handle.mine()
    assert chain.totals().recorded == 5
    assert chain.mined_nonce("recorder") == 1


def test_a_used_nonce_is_refused(chain: Chain) -> None:
    reward(chain, 5)
    tx = signed(chain, RecordRewards(7, (ADA,), (5,), ROOT), nonce=0)
    with pytest.raises(NonceTooLow) as refusal:
        chain.broadcast(tx.raw)
    assert refusal.value.tx_hash == tx.hash


def test_a_later_nonce_waits_for_its_turn(chain: Chain, handle: Handle) -> None:
    later = send(chain, RecordRewards(1, (ADA,), (2,), ROOT), nonce=1)
    assert chain.find_receipt(later.hash) is None
    send(chain, RecordRewards(0, (ADA,), (1,), ROOT), nonce=0)
    handle.mine()
    receipt_of(chain, later)
    assert chain.totals().recorded == 3


def test_a_waiting_transaction_is_replaced_by_a_better_paid_one_only(handle: Handle) -> None:
    chain, fee = handle.chain, handle.chain.suggest_fee()
    handle.set_automine(False)
    calls = [RecordRewards(0, (ADA,), (amount,), ROOT) for amount in (1, 2, 3)]
    first, same, better = (
        chain.sign(call, role="recorder", nonce=0, fee=f)
        for call, f in zip(calls, (fee, fee, fee.bumped()), strict=True)
    )
    chain.broadcast(first.raw)
    with pytest.raises(ReplacementUnderpriced):
        chain.broadcast(same.raw)
    chain.broadcast(better.raw)
    handle.mine()
    assert chain.find_receipt(first.hash) is None
    assert chain.totals().recorded == 3


@pytest.mark.parametrize("raw", [b"", b"\x02nonsense", b"{}"])
def test_nonsense_is_rejected(chain: Chain, raw: bytes) -> None:
    with pytest.raises(TxRejected):
        chain.broadcast(raw)


# -- receipts, events, sums


def test_a_receipt_names_its_block(chain: Chain) -> None:
    before = chain.head().number
    tx = reward(chain, 5)
    receipt, head = receipt_of(chain, tx), chain.head()
    assert (receipt.tx_hash, receipt.block_number, receipt.block_hash) == (tx.hash, before + 1, head.hash)
    assert receipt.gas_used > 0
    assert receipt.revert_reason is None
    assert chain.block_hash(head.number) == head.hash
    assert chain.block_hash(head.number + 1) is None


def test_a_public_chain_is_durable_up_to_its_head(chain: Chain) -> None:
    reward(chain, 5)
    assert chain.durable_height() == chain.head().number


def test_the_whole_life_of_a_job_in_events(chain: Chain) -> None:
    first = chain.head().number + 1
    does(chain, RecordRewards(3, (ADA, BOB), (50, 7), ROOT))
    does(chain, Unlock(ADA, 40, OP))
    does(chain, Lock(ADA, JOB, 30))
    does(chain, Lock(ADA, OTHER_JOB, 10))
    does(chain, Settle(JOB, 25))
    does(chain, PayWorkers(JOB, 0, (BOB, CAY), (12, 8)))
    does(chain, PayWorkers(JOB, 2, (CAY,), (2,)))
    does(chain, Release(OTHER_JOB))
    found = chain.events(first, chain.head().number)
    assert [(event.name, dict(event.args)) for event in found] == [
        ("RewardRecorded", {"number": 3, "account": ADA, "amount": 50}),
        ("RewardRecorded", {"number": 4, "account": BOB, "amount": 7}),
        ("BatchRecorded", {"first": 3, "count": 2, "evidenceRoot": ROOT}),
        ("Unlocked", {"account": ADA, "amount": 40, "opId": OP}),
        ("Locked", {"account": ADA, "job": JOB, "maximum": 30}),
        ("Locked", {"account": ADA, "job": OTHER_JOB, "maximum": 10}),
        ("Settled", {"job": JOB, "account": ADA, "used": 25, "returned": 5}),
        ("WorkerPaid", {"job": JOB, "number": 0, "account": BOB, "amount": 12}),
        ("WorkerPaid", {"job": JOB, "number": 1, "account": CAY, "amount": 8}),
        ("WorkerPaid", {"job": JOB, "number": 2, "account": CAY, "amount": 2}),
        ("Released", {"job": OTHER_JOB, "account": ADA, "amount": 10}),
    ]
    assert all(tuple(event.args) == EVENT_ARGS[event.name] for event in found)
    assert [chain.account(account) for account in (ADA, BOB, CAY)] == [
        AccountState(10, 15),
        AccountState(19, 0),
        AccountState(10, 0),
    ]
    totals = chain.totals()
    assert totals.is_balanced
    assert (totals.recorded, totals.available, totals.credits, totals.locked, totals.spent) == (
        57,
        39,
        15,
        0,
        3,
    )
    assert (totals.used, totals.paid, totals.next_number, totals.burned) == (25, 22, 5, 3)


def test_events_are_placed_in_their_block(chain: Chain) -> None:
    one, two = reward(chain, 1, 2), reward(chain, 3)
    receipts = [chain.find_receipt(tx.hash) for tx in (one, two)]
    block = receipts[0].block_number
    found = chain.events(block, block)
    assert [event.log_index for event in found] == [0, 1, 2]
    assert {(event.block_number, event.block_hash, event.tx_hash) for event in found} == {
        (block, receipts[0].block_hash, one.hash)
    }
    assert len(chain.events(block, block + 1)) == 5


def test_beyond_the_head_there_are_no_events(chain: Chain) -> None:
    reward(chain, 1)
    head = chain.head().number
    assert len(chain.events(head, head + 100)) == 2
    assert chain.events(head + 1, head + 100) == []


def test_an_unknown_account_holds_nothing(chain: Chain) -> None:
    assert chain.account(CAY) == AccountState(0, 0)


def test_money_is_exact_in_nano(chain: Chain) -> None:
    reward(chain, 999, 1)
    assert chain.account(ADA).available == 1000


# -- what the contract refuses, by name


def test_a_hundred_rewards_are_each_refused_again(chain: Chain) -> None:
    accounts = tuple(i.to_bytes(32, "big") for i in range(1, 101))
    does(chain, RecordRewards(200, accounts, (1,) * 100, ROOT))
    for number in (200, 255, 256, 299):
        assert reverts(chain, RecordRewards(number, (ADA,), (1,), ROOT)) == "NumberAlreadyRecorded"
    assert reverts(chain, RecordRewards(110, accounts, (1,) * 100, ROOT)) == "NumberAlreadyRecorded"
    assert chain.totals().recorded == 100


@pytest.mark.parametrize(
    "reason, call",
    [
        ("BadBatchSize", RecordRewards(0, (), (), ROOT)),
        ("BadBatchSize", RecordRewards(0, (ADA,) * 301, (1,) * 301, ROOT)),
        ("ZeroAccount", RecordRewards(0, (bytes(32),), (1,), ROOT)),
        ("ZeroAmount", RecordRewards(0, (ADA,), (0,), ROOT)),
        ("WindowCapExceeded", RecordRewards(0, (ADA,), (1001,), ROOT)),
        ("ZeroAmount", Unlock(ADA, 0, OP)),
        ("InsufficientAvailable", Unlock(ADA, 1, OP)),
        ("InsufficientCredits", Lock(ADA, JOB, 1)),
        ("ZeroAmount", Lock(ADA, JOB, 0)),
        ("JobNotLocked", Settle(JOB, 0)),
        ("JobNotSettled", PayWorkers(JOB, 0, (ADA,), (1,))),
        ("JobNotLocked", Release(JOB)),
    ],
)
def test_an_empty_ledger_refuses(chain: Chain, reason: str, call: Call) -> None:
    assert reverts(chain, call) == reason
    assert chain.totals().recorded == 0


@pytest.mark.parametrize(
    "reason, call",
    [
        ("JobAlreadyKnown", Lock(ADA, JOB, 1)),
        ("UsedExceedsMaximum", Settle(JOB, 11)),
        ("JobNotSettled", PayWorkers(JOB, 0, (BOB,), (1,))),
        ("OperationAlreadyDone", Unlock(ADA, 1, JOB)),
    ],
)
def test_a_locked_job_refuses(chain: Chain, reason: str, call: Call) -> None:
    lock(chain, 10)
    reward(chain, 5)
    assert reverts(chain, call) == reason


@pytest.mark.parametrize(
    "reason, call",
    [
        ("JobNotLocked", Settle(JOB, 1)),
        ("JobNotLocked", Release(JOB)),
        ("PayoutOutOfOrder", PayWorkers(JOB, 0, (BOB,), (1,))),
        ("PayoutOutOfOrder", PayWorkers(JOB, 2, (BOB,), (1,))),
        ("PayoutsExceedUsed", PayWorkers(JOB, 1, (BOB, CAY), (1, 4))),
        ("BadBatchSize", PayWorkers(JOB, 1, (), ())),
        ("JobAlreadyKnown", Lock(ADA, JOB, 1)),
    ],
)
def test_a_settled_job_refuses(chain: Chain, reason: str, call: Call) -> None:
    lock(chain, 10)
    does(chain, Settle(JOB, 7))
    does(chain, PayWorkers(JOB, 0, (BOB,), (3,)))
    assert reverts(chain, call) == reason


def test_a_role_is_held_to_its_own_functions(chain: Chain) -> None:
    assert reverts(chain, Unlock(ADA, 1, OP), role="recorder") == "AccessControlUnauthorizedAccount"
    assert (
        reverts(chain, RecordRewards(0, (ADA,), (1,), ROOT), role="spender")
        == "AccessControlUnauthorizedAccount"
    )


def test_a_revert_uses_its_nonce_and_stops_nobody(chain: Chain) -> None:
    reverts(chain, Unlock(ADA, 1, OP))
    assert chain.mined_nonce("spender") == 1
    reward(chain, 5)
    does(chain, Unlock(ADA, 1, OP))


# -- reorganisations


def test_what_a_reorganisation_takes_back_can_be_sent_again(handle: Handle) -> None:
    chain = handle.chain
    kept = reward(chain, 1, first=0)
    height = chain.head().number
    lost = reward(chain, 2, first=1)
    old_hash = chain.block_hash(height + 1)
    handle.reorg(1)
    assert chain.block_hash(height + 1) != old_hash
    assert chain.find_receipt(lost.hash) is None
    assert chain.find_receipt(kept.hash) is not None
    assert chain.totals().recorded == 1
    assert chain.mined_nonce("recorder") == 1
    chain.broadcast(lost.raw)
    handle.mine()
    assert receipt_of(chain, lost).block_number > height + 1
    assert chain.totals().recorded == 3
