"""The seam between the ledger and any chain: what is sent (calls), what comes back (receipts, events), and the Protocol.

Pure data: no web3, no Django, no clock. `fake.FakeChain` and `web3_chain.Web3Chain` implement it, and one conformance
suite runs over both. Amounts are int in nano (10^-9 HYD); only an implementation knows of wei.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

NANO_IN_WEI = 10**9  # the token has 18 decimals, the books count in 10^-9 HYD
MAX_BATCH = 300  # items in one recordRewards or payWorkers: EIP-7825 caps a transaction at 16,777,216 gas
Role: TypeAlias = Literal["admin", "recorder", "spender", "guardian"]
ROLES: tuple[Role, ...] = ("admin", "recorder", "spender", "guardian")


@dataclass(frozen=True)
class RecordRewards:
    """Credits reward number `first + i` of `amounts[i]` to `accounts[i]`. All or nothing; a number already recorded reverts."""

    first: int
    accounts: tuple[bytes, ...]
    amounts: tuple[int, ...]
    evidence_root: bytes


@dataclass(frozen=True)
class Unlock:
    """Turns available tokens into credits, once for each `op_id` (32 bytes)."""

    account: bytes
    amount: int
    op_id: bytes


@dataclass(frozen=True)
class Lock:
    """Sets credits aside for a job; a job id is used once for ever."""

    account: bytes
    job: bytes
    maximum: int


@dataclass(frozen=True)
class Settle:
    """Claims `used` of what the job locked; the rest goes back to the account's credits in the same transaction."""

    job: bytes
    used: int


@dataclass(frozen=True)
class PayWorkers:
    """Pays payouts number `first`, `first + 1`, … of a settled job. `first` must be the count paid so far (0 at the start)."""

    job: bytes
    first: int
    accounts: tuple[bytes, ...]
    amounts: tuple[int, ...]


@dataclass(frozen=True)
class Release:
    """Gives back everything that a job locked, when it was never settled."""

    job: bytes


Call: TypeAlias = RecordRewards | Unlock | Lock | Settle | PayWorkers | Release

# The role that must sign each call.
SIGNER: Mapping[type, Role] = {
    RecordRewards: "recorder",
    Unlock: "spender",
    Lock: "spender",
    Settle: "spender",
    PayWorkers: "spender",
    Release: "spender",
}

# Names of the arguments in `ChainEvent.args`, as the contract declares them. Accounts, jobs, op ids and roots are 32
# bytes; wallets are checksummed addresses; amounts are nano.
EVENT_ARGS: Mapping[str, tuple[str, ...]] = {
    "RewardRecorded": ("number", "account", "amount"),
    "BatchRecorded": ("first", "count", "evidenceRoot"),
    "Unlocked": ("account", "amount", "opId"),
    "Locked": ("account", "job", "maximum"),
    "Settled": ("job", "account", "used", "returned"),
    "WorkerPaid": ("job", "number", "account", "amount"),
    "Released": ("job", "account", "amount"),
    "Deposited": ("account", "wallet", "amount"),
    "Withdrawn": ("account", "wallet", "amount"),
}


@dataclass(frozen=True)
class BlockRef:
    number: int
    hash: str
    timestamp: int


@dataclass(frozen=True)
class Receipt:
    """What became of a mined transaction. `status` False means that it reverted; then `revert_reason` names the error."""

    tx_hash: str
    status: bool
    block_number: int
    block_hash: str
    gas_used: int
    revert_reason: str | None = None


@dataclass(frozen=True)
class ChainEvent:
    """One log entry of the contract; (block_hash, tx_hash, log_index) is its identity. `args`: see EVENT_ARGS."""

    block_number: int
    block_hash: str
    tx_hash: str
    log_index: int
    name: str
    args: Mapping[str, int | bytes | str]


@dataclass(frozen=True)
class Fee:
    """EIP-1559 prices in wei per gas."""

    max_per_gas: int
    priority_per_gas: int

    def bumped(self) -> "Fee":
        """A fee that nodes accept in place of this one: they ask for 10 % more, we add 12.5 % rounded up."""
        return Fee(-(-self.max_per_gas * 9 // 8), max(1, -(-self.priority_per_gas * 9 // 8)))


@dataclass(frozen=True)
class SignedTx:
    """A transaction as it is to be stored before it is broadcast: the same bytes may be sent any number of times."""

    hash: str
    raw: bytes
    nonce: int
    sender: str


@dataclass(frozen=True)
class Totals:
    """The contract's own sums at one block (nano). recorded = available + credits + locked + spent + supply, always.

    `used` is what settled jobs claimed and `paid` what workers got of it; spent = used - paid.
    `next_number` is one above the highest reward number recorded.
    """

    recorded: int
    available: int
    credits: int
    locked: int
    spent: int
    supply: int
    used: int
    paid: int
    next_number: int

    @property
    def burned(self) -> int:
        """What has left circulation for good once every settled job's workers are paid: the same figure as `spent`."""
        return self.spent

    @property
    def is_balanced(self) -> bool:
        held = self.available + self.credits + self.locked + self.spent + self.supply
        return self.recorded == held and self.spent == self.used - self.paid


@dataclass(frozen=True)
class AccountState:
    available: int
    credits: int


class Chain(Protocol):
    """One contract on one chain. Every method may raise ledger.errors.ChainUnavailable, which means: try again later."""

    @property
    def chain_id(self) -> int: ...

    @property
    def contract(self) -> str: ...

    def head(self) -> BlockRef: ...

    def block_hash(self, number: int) -> str | None:
        """None when the chain has no such block (now)."""

    def durable_height(self) -> int:
        """Embedded node: the block of its last durable checkpoint, which a kill cannot undo. Public chain: the head."""

    def mined_nonce(self, role: Role) -> int:
        """How many transactions of this role's key are mined: the next nonce when none is on its way."""

    def suggest_fee(self) -> Fee: ...

    def sign(self, call: Call, *, role: Role, nonce: int, fee: Fee) -> SignedTx:
        """Signs without sending. Raises KeyMissing, and BadCall when the call could never be encoded."""

    def broadcast(self, raw: bytes) -> None:
        """Sends signed bytes; a transaction the node already has (waiting or mined) counts as sent.

        Raises ChainUnavailable (the outcome is unknown: look the hash up, then send the same bytes again),
        NonceTooLow, ReplacementUnderpriced, TxRejected.
        """

    def find_receipt(self, tx_hash: str) -> Receipt | None: ...

    def events(self, first: int, last: int) -> list[ChainEvent]:
        """The contract's events in blocks first..last inclusive, in chain order."""

    def totals(self) -> Totals: ...

    def account(self, account: bytes) -> AccountState: ...
