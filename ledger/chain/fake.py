"""A chain in memory with the port's whole Protocol and with faults as data: lost broadcasts, unknown outcomes, reorganisations,
a node that lags, one that is down, one that falls back to its last checkpoint.

For tests and for trying the ledger without a node. Nothing here is random and nothing reads a clock.
"""

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from enum import Enum

from ledger.chain import port
from ledger.chain.calls import check_call, gas_limit
from ledger.chain.fake_contract import FakeContract, Reverted
from ledger.chain.port import AccountState, BlockRef, Call, ChainEvent, Fee, Receipt, Role, SignedTx, Totals
from ledger.errors import ChainUnavailable, NonceTooLow, ReplacementUnderpriced, TxRejected

GENESIS_TIME = 1_800_000_000
BLOCK_S = 12
CALLS = {call.__name__: call for call in port.SIGNER}


class Fault(Enum):
    """What befalls one broadcast."""

    LOST = "the node never sees it, the sender sees a broken connection"
    UNKNOWN = "the node takes it, the sender sees a broken connection"
    REFUSED = "the node says no"


@dataclass(frozen=True)
class FakeTx:
    hash: str
    role: Role
    nonce: int
    fee: Fee
    call: Call


@dataclass
class FakeBlock:
    ref: BlockRef
    receipts: list[Receipt] = field(default_factory=list)
    events: list[ChainEvent] = field(default_factory=list)
    txs: list[FakeTx] = field(default_factory=list)


class FakeChain:
    """Mines each broadcast at once unless `automine` is False; then `mine()` does.

    `faults` are used up one for each broadcast (None = none); `lag` hides the newest blocks from every question;
    `is_down` makes every question raise ChainUnavailable. `is_embedded` chains are durable up to the last `checkpoint()`.
    """

    def __init__(
        self,
        *,
        chain_id: int = 777001,
        automine: bool = True,
        is_embedded: bool = False,
        window_cap: int = 10**18,
        window_s: int = 86_400,
        clock: Callable[[], int] | None = None,
    ) -> None:
        self.chain_id, self.contract = chain_id, "0x" + "fa" * 20
        self.automine, self.is_embedded = automine, is_embedded
        self.window_cap, self.window_s, self.clock = window_cap, window_s, clock
        self.faults: deque[Fault | None] = deque()
        self.lag, self.is_down, self.fork = 0, False, 0
        self.pool: list[FakeTx] = []
        self.blocks: list[FakeBlock] = [FakeBlock(BlockRef(0, digest("genesis", chain_id), GENESIS_TIME))]
        self.state = self.new_state()
        self.durable = 0

    # -- what the port asks for

    def head(self) -> BlockRef:
        return self.seen()[-1].ref

    def block_hash(self, number: int) -> str | None:
        blocks = self.seen()
        return blocks[number].ref.hash if 0 <= number < len(blocks) else None

    def durable_height(self) -> int:
        head = self.head().number
        return min(self.durable, head) if self.is_embedded else head

    def mined_nonce(self, role: Role) -> int:
        return count_nonce(self.seen(), role)

    def suggest_fee(self) -> Fee:
        self.require_up("suggest_fee")
        return Fee(2 * 10**9, 10**9)

    def sign(self, call: Call, *, role: Role, nonce: int, fee: Fee) -> SignedTx:
        check_call(call)
        body = {
            "role": role,
            "nonce": nonce,
            "fee": asdict(fee),
            "call": type(call).__name__,
            "fields": to_json(asdict(call)),
        }
        raw = json.dumps(body, sort_keys=True).encode()
        return SignedTx(hash=hash_raw(raw), raw=raw, nonce=nonce, sender=address(role))

    def broadcast(self, raw: bytes) -> None:
        self.require_up("broadcast")
        fault = self.faults.popleft() if self.faults else None
        if fault is Fault.LOST:
            raise ChainUnavailable("the connection broke")
        if fault is Fault.REFUSED:
            raise TxRejected("refused by the fault plan")
        self.accept(parse(raw))
        if fault is Fault.UNKNOWN:
            raise ChainUnavailable("the connection broke after the request was written")

    def find_receipt(self, tx_hash: str) -> Receipt | None:
        return next(
            (receipt for block in self.seen() for receipt in block.receipts if receipt.tx_hash == tx_hash),
            None,
        )

    def events(self, first: int, last: int) -> list[ChainEvent]:
        return [event for block in self.seen()[max(first, 0) : last + 1] for event in block.events]

    def totals(self) -> Totals:
        return self.seen_state().totals()

    def account(self, account: bytes) -> AccountState:
        return self.seen_state().account_state(account)

    # -- what tests do to it

    def mine(self, blocks: int = 1) -> None:
        """Mines all waiting transactions whose turn it is into the first of `blocks` blocks; the others are empty."""
        self.add_block(self.take_ready())
        self.mine_empty(blocks - 1)

    def mine_empty(self, blocks: int = 1) -> None:
        for _ in range(blocks):
            self.add_block([])

    def reorg(self, depth: int, *, drop: bool = False) -> None:
        """Replaces the last `depth` blocks by as many empty ones with other hashes.

        Their transactions wait again, to be mined by the next `mine()`; with `drop` they are forgotten.
        """
        if not 0 < depth < len(self.blocks):
            raise ValueError(f"cannot replace {depth} of {len(self.blocks) - 1} blocks")
        lost = [tx for block in self.blocks[-depth:] for tx in block.txs]
        self.fork += 1
        self.cut(len(self.blocks) - depth)
        self.pool = ([] if drop else lost) + self.pool
        self.mine_empty(depth)

    def checkpoint(self) -> None:
        """An embedded node's state up to now survives a `crash()`."""
        self.durable = self.blocks[-1].ref.number

    def crash(self) -> None:
        """kill -9 of an embedded node and its restart: back to the last checkpoint, waiting transactions lost."""
        self.fork += 1
        self.pool = []
        self.cut(self.durable + 1)

    # -- inside

    def seen(self) -> list[FakeBlock]:
        self.require_up("read")
        return self.blocks[: max(1, len(self.blocks) - self.lag)]

    def seen_state(self) -> FakeContract:
        blocks = self.seen()
        return self.state if len(blocks) == len(self.blocks) else self.replay(blocks)

    def require_up(self, what: str) -> None:
        if self.is_down:
            raise ChainUnavailable(f"{what}: the node is down")

    def new_state(self) -> FakeContract:
        return FakeContract(window_cap=self.window_cap, window_s=self.window_s)

    def accept(self, tx: FakeTx) -> None:
        if tx in self.pool or any(
            tx.hash == receipt.tx_hash for block in self.blocks for receipt in block.receipts
        ):
            return
        if tx.nonce < count_nonce(self.blocks, tx.role):
            raise NonceTooLow(tx.hash)
        rival = next((other for other in self.pool if (other.role, other.nonce) == (tx.role, tx.nonce)), None)
        if rival is not None:
            if tx.fee.max_per_gas * 10 < rival.fee.max_per_gas * 11:
                raise ReplacementUnderpriced(tx.hash)
            self.pool.remove(rival)
        self.pool.append(tx)
        if self.automine and tx.nonce == count_nonce(self.blocks, tx.role):
            self.mine()

    def take_ready(self) -> list[FakeTx]:
        ready: list[FakeTx] = []
        nonces = {role: count_nonce(self.blocks, role) for role in port.ROLES}
        for tx in sorted(self.pool, key=lambda tx: tx.nonce):
            if tx.nonce == nonces[tx.role]:
                nonces[tx.role] += 1
                ready.append(tx)
        self.pool = [tx for tx in self.pool if tx not in ready and tx.nonce >= nonces[tx.role]]
        return ready

    def add_block(self, txs: Iterable[FakeTx]) -> None:
        txs = list(txs)
        number, parent = len(self.blocks), self.blocks[-1].ref
        timestamp = max(parent.timestamp + 1, self.clock()) if self.clock else parent.timestamp + BLOCK_S
        block_hash = digest(parent.hash, number, timestamp, self.fork, *(tx.hash for tx in txs))
        block = FakeBlock(BlockRef(number, block_hash, timestamp), txs=txs)
        for tx in txs:
            run(self.state, tx, block)
        self.blocks.append(block)

    def cut(self, length: int) -> None:
        del self.blocks[length:]
        self.durable = min(self.durable, length - 1)
        self.state = self.replay(self.blocks)

    def replay(self, blocks: list[FakeBlock]) -> FakeContract:
        state = self.new_state()
        for block in blocks:
            for tx in block.txs:
                run(state, tx, FakeBlock(block.ref))
        return state


def run(state: FakeContract, tx: FakeTx, block: FakeBlock) -> None:
    """Executes one transaction and appends its receipt and events to the block."""
    ref, reason = block.ref, None
    try:
        emitted = state.apply(tx.call, role=tx.role, timestamp=ref.timestamp)
    except Reverted as error:
        emitted, reason = [], error.reason
    for name, args in emitted:
        block.events.append(ChainEvent(ref.number, ref.hash, tx.hash, len(block.events), name, args))
    gas = gas_limit(tx.call) // 2
    block.receipts.append(Receipt(tx.hash, reason is None, ref.number, ref.hash, gas, reason))


def count_nonce(blocks: list[FakeBlock], role: Role) -> int:
    return sum(tx.role == role for block in blocks for tx in block.txs)


def parse(raw: bytes) -> FakeTx:
    try:
        body = json.loads(raw)
        call = CALLS[body["call"]](**from_json(body["fields"]))
        return FakeTx(hash_raw(raw), body["role"], body["nonce"], Fee(**body["fee"]), call)
    except (ValueError, KeyError, TypeError) as error:
        raise TxRejected(f"malformed transaction ({error})") from error


def to_json(fields: dict) -> dict:
    def plain(value: object) -> object:
        if isinstance(value, bytes):
            return "0x" + value.hex()
        return [plain(part) for part in value] if isinstance(value, tuple) else value

    return {name: plain(value) for name, value in fields.items()}


def from_json(fields: dict) -> dict:
    def rich(value: object) -> object:
        if isinstance(value, str):
            return bytes.fromhex(value.removeprefix("0x"))
        return tuple(rich(part) for part in value) if isinstance(value, list) else value

    return {name: rich(value) for name, value in fields.items()}


def address(role: Role) -> str:
    return "0x" + hashlib.sha256(role.encode()).hexdigest()[:40]


def hash_raw(raw: bytes) -> str:
    return "0x" + hashlib.sha256(raw).hexdigest()


def digest(*parts: object) -> str:
    return "0x" + hashlib.sha256(repr(parts).encode()).hexdigest()
