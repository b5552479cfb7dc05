"""What the door takes and answers: frozen, free of the ORM. Amounts are int in nano."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Balances:
    """`pending`: earned but not final. `locked`: set aside for jobs. `earned_total`: all that ever settled.

    `on_chain`: the part of `earned_total` that came as rewards, each with its number on the contract.
    """

    pending: int
    available: int
    unlocking: int
    credits: int
    locked: int
    spent: int
    earned_total: int
    on_chain: int


@dataclass(frozen=True)
class Budget:
    """funded = reserved + settled + remaining, always."""

    funded: int
    reserved: int
    settled: int
    remaining: int


@dataclass(frozen=True)
class RewardRequest:
    """`key` makes it idempotent. `evidence_hash` is 32 bytes; it and the policy go into the batch's Merkle root."""

    key: str
    campaign_ref: str
    beneficiary_ref: str
    contribution_ref: str
    amount: int
    evidence_hash: bytes
    policy_version: str


@dataclass(frozen=True)
class RewardEntry:
    """`status`: reserved, batched, sent, settled, cancelled or reverted.

    `paid` is what goes to the beneficiary: `amount` less what is held back for rewards cancelled after they were
    sealed. `offset` is what is still to be held back because this reward was cancelled.
    """

    key: str
    status: str
    amount: int
    number: int | None = None
    tx_hash: str | None = None
    block: int | None = None
    paid: int = 0
    offset: int = 0


@dataclass(frozen=True)
class RewardProof:
    """A reward's leaf and its way to the batch's root (ledger.evidence); hashes in hex."""

    number: int
    contribution: str
    evidence: str
    policy_version: str
    siblings: tuple[str, ...]
    root: str
    tx_hash: str | None


@dataclass(frozen=True)
class Unlock:
    """`status`: pending, settled or reverted."""

    key: str
    amount: int
    status: str


@dataclass(frozen=True)
class Escrow:
    """`status`: pending, locked, settling, settled, released or failed. A reorganisation can turn locked to pending."""

    job_ref: str
    user_ref: str
    status: str
    maximum: int
    used: int


@dataclass(frozen=True)
class Settlement:
    """News of one operation. `kind`: reward, unlock, lock, settle, pay, release. `status`: settled, reverted,
    unconfirmed (was settled or reverted, its block is gone; it will come again) or cancelled."""

    id: int
    kind: str
    key: str
    ref: str
    status: str


@dataclass(frozen=True)
class StatementLine:
    """One posting on one of the user's accounts; `amount` is signed."""

    id: int
    at: datetime
    kind: str
    amount: int
    status: str
    label_ref: str
    tx_hash: str | None
    account: str


@dataclass(frozen=True)
class LedgerTotals:
    """`books`: balance per kind. `chain`: the contract's sums as the indexed events give them, at `block`."""

    books: dict[str, int]
    chain: dict[str, int]
    block: int


@dataclass(frozen=True)
class ChainStatus:
    """`lag_s`: how long ago the node last answered the indexer (None: never)."""

    head: int
    indexed: int
    durable: int
    outbox_waiting: int
    lag_s: float | None
    reachable: bool
