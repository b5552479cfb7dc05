"""Events and the balanced postings that each of them makes. Pure: no ORM, no clock, no chain.

Signs. A posting adds its signed amount to one account, and the postings of an event sum to zero, so the sum over
all accounts is zero for ever. From this follows the sign of every kind:

    0 = issuance + Σ places + Σ shortfalls     with places ≥ 0   ⇒   issuance ≤ 0 is minus all that was ever issued.

*Places* say where nano are now and cannot hold less than nothing. *Shortfalls* (≤ 0) exist for one case only: a
reorganisation takes back an amount that has already moved on. The place is then emptied, the missing rest stands in
its shortfall, and whatever comes back to the place fills the shortfall first; so at most one of the two differs from
zero, and place + shortfall is the true figure. Nothing can be spent while a shortfall stands.

Every operation moves twice: *request* takes it from where it rests into a place of its own (in flight) at once,
*settle* carries it on when its transaction is final, *refuse* carries it back when it reverted. A settle or a refuse
whose block was reorganised away is undone by its exact inverse.

    issuance ─fund─▶ budget ─reserve─▶ pending ─▶ available ─unlock─▶ unlocking ─▶ credits ─lock─▶ locking ─▶ escrow
    escrow ─settle─▶ payable ─▶ available (volunteers)   │   burning ─▶ burned   │   returning ─▶ credits (the rest)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from ledger.errors import BadInput, UnbalancedPosting

MAX_AMOUNT = 2**62  # leaves a bit of SQLite's signed 64 for sums of two


class Kind(StrEnum):
    """What an account holds; `issuance` and the shortfalls are the only ones below zero."""

    ISSUANCE = "issuance"
    BUDGET = "budget"
    PENDING = "pending"
    AVAILABLE = "available"
    UNLOCKING = "unlocking"
    CREDITS = "credits"
    LOCKING = "locking"
    ESCROW = "escrow"
    PAYABLE = "payable"
    BURNING = "burning"
    RETURNING = "returning"
    UNPAID = "unpaid"
    BURNED = "burned"
    WALLETS = "wallets"
    SHORT_BUDGET = "short_budget"
    SHORT_AVAILABLE = "short_available"
    SHORT_CREDITS = "short_credits"
    SHORT_ESCROW = "short_escrow"


SHORTFALL_OF: Mapping[Kind, Kind] = {
    Kind.BUDGET: Kind.SHORT_BUDGET,
    Kind.AVAILABLE: Kind.SHORT_AVAILABLE,
    Kind.CREDITS: Kind.SHORT_CREDITS,
    Kind.ESCROW: Kind.SHORT_ESCROW,
}
NEGATIVE_KINDS = frozenset({Kind.ISSUANCE, *SHORTFALL_OF.values()})
SYSTEM = "system"


@dataclass(frozen=True, order=True)
class Slot:
    """Names one account: what it holds, and for whom ("user:…", "campaign:…", "job:…" or "system")."""

    kind: Kind
    ref: str


Moves = dict[Slot, int]
"""Slot → signed nano, each slot once; sums to zero."""


@dataclass(frozen=True)
class Reward:
    """`offsets`: (campaign, amount) pairs that are held back for rewards cancelled after they settled."""

    campaign: str
    user: str
    amount: int
    offsets: tuple[tuple[str, int], ...] = ()

    @property
    def paid(self) -> int:
        return self.amount - sum(amount for _, amount in self.offsets)


@dataclass(frozen=True)
class Unlock:
    user: str
    amount: int


@dataclass(frozen=True)
class Lock:
    user: str
    job: str
    maximum: int


@dataclass(frozen=True)
class Settle:
    """`payouts` are volunteers' shares of `used`; what is left of `used` is burned, the rest of the maximum returns."""

    user: str
    job: str
    maximum: int
    used: int
    payouts: tuple[tuple[str, int], ...] = ()

    @property
    def paid(self) -> int:
        return sum(amount for _, amount in self.payouts)


@dataclass(frozen=True)
class Pay:
    """One chunk of a settled job's payouts."""

    job: str
    payouts: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Release:
    user: str
    job: str
    maximum: int


Operation = Reward | Unlock | Lock | Settle | Pay | Release


def fund(campaign: str, amount: int) -> Moves:
    return balanced("fund", {Slot(Kind.ISSUANCE, SYSTEM): -amount, Slot(Kind.BUDGET, campaign): amount})


def request(operation: Operation) -> Moves:
    """Returns what moves when the operation is asked for, before any chain has seen it.

    A chunk of payouts moves nothing by itself: the settlement that it belongs to has set it aside.
    """
    match operation:
        case Reward(campaign, user, amount, offsets):
            lines = [(Kind.BUDGET, campaign, -amount), (Kind.PENDING, user, operation.paid)]
            lines += [(Kind.BUDGET, owed_to, part) for owed_to, part in offsets]
        case Unlock(user, amount):
            lines = [(Kind.AVAILABLE, user, -amount), (Kind.UNLOCKING, user, amount)]
        case Lock(user, job, maximum):
            lines = [(Kind.CREDITS, user, -maximum), (Kind.LOCKING, job, maximum)]
        case Settle(user, job, maximum, used, payouts):
            lines = [(Kind.ESCROW, job, -maximum), (Kind.RETURNING, job, maximum - used)]
            lines += [(Kind.BURNING, job, used - operation.paid)]
            lines += [(Kind.PAYABLE, volunteer, part) for volunteer, part in payouts]
        case Release(user, job, maximum):
            lines = [(Kind.ESCROW, job, -maximum), (Kind.RETURNING, job, maximum)]
        case Pay():
            lines = []
    return gather(operation, lines)


def settle(operation: Operation) -> Moves:
    """Returns what moves when the operation's transaction is final and succeeded."""
    match operation:
        case Reward(_, user, _, _):
            lines = [(Kind.PENDING, user, -operation.paid), (Kind.AVAILABLE, user, operation.paid)]
        case Unlock(user, amount):
            lines = [(Kind.UNLOCKING, user, -amount), (Kind.CREDITS, user, amount)]
        case Lock(_, job, maximum):
            lines = [(Kind.LOCKING, job, -maximum), (Kind.ESCROW, job, maximum)]
        case Settle(user, job, maximum, used, _):
            rest, burned = maximum - used, used - operation.paid
            lines = [(Kind.RETURNING, job, -rest), (Kind.CREDITS, user, rest)]
            lines += [(Kind.BURNING, job, -burned), (Kind.BURNED, SYSTEM, burned)]
        case Pay(_, payouts):
            lines = [(Kind.PAYABLE, volunteer, -part) for volunteer, part in payouts]
            lines += [(Kind.AVAILABLE, volunteer, part) for volunteer, part in payouts]
        case Release(user, job, maximum):
            lines = [(Kind.RETURNING, job, -maximum), (Kind.CREDITS, user, maximum)]
    return gather(operation, lines)


def refuse(operation: Operation, *, settle_refused: bool = False) -> Moves:
    """Returns what moves when the operation's transaction is final and reverted: the way back.

    A refused chunk of payouts goes back to the escrow if its settlement was refused too; otherwise the contract has
    counted it as used, and it waits in `unpaid` for an operator.
    """
    match operation:
        case Reward():
            return inverse(request(operation))
        case Unlock(user, amount):
            lines = [(Kind.UNLOCKING, user, -amount), (Kind.AVAILABLE, user, amount)]
        case Lock(user, job, maximum):
            lines = [(Kind.LOCKING, job, -maximum), (Kind.CREDITS, user, maximum)]
        case Settle(_, job, maximum, used, _):
            rest, burned = maximum - used, used - operation.paid
            lines = [
                (Kind.RETURNING, job, -rest),
                (Kind.BURNING, job, -burned),
                (Kind.ESCROW, job, rest + burned),
            ]
        case Pay(job, payouts):
            goal = Kind.ESCROW if settle_refused else Kind.UNPAID
            lines = [(Kind.PAYABLE, volunteer, -part) for volunteer, part in payouts]
            lines += [(goal, job, part) for _, part in payouts]
        case Release(_, job, maximum):
            lines = [(Kind.RETURNING, job, -maximum), (Kind.ESCROW, job, maximum)]
    return gather(operation, lines)


def deposit(user: str, amount: int) -> Moves:
    """Returns what moves when a wallet's tokens come into the contract, seen on chain: nobody asks the books before."""
    return balanced("deposit", {Slot(Kind.WALLETS, SYSTEM): -amount, Slot(Kind.AVAILABLE, user): amount})


def withdraw(user: str, amount: int) -> Moves:
    return inverse(deposit(user, amount))


def inverse(moves: Moves) -> Moves:
    return {slot: -amount for slot, amount in moves.items()}


def gather(operation: Operation, lines: Iterable[tuple[Kind, str, int]]) -> Moves:
    """Adds up the lines that name the same slot, and drops those that move nothing."""
    moves: Moves = {}
    for kind, ref, amount in lines:
        slot = Slot(kind, ref)
        moves[slot] = moves.get(slot, 0) + amount
    return balanced(type(operation).__name__, {slot: amount for slot, amount in moves.items() if amount})


def balanced(event: str, moves: Moves) -> Moves:
    """Returns the moves if they sum to zero. Raises: UnbalancedPosting, always our own mistake."""
    if total := sum(moves.values()):
        raise UnbalancedPosting(event, total)
    return moves


def absorb(moves: Moves, standing: Mapping[Slot, int]) -> Moves:
    """Divides moves over places and their shortfalls, so that neither crosses zero.

    `standing` holds the present balances of the places in `moves` that have a shortfall, and of those shortfalls.
    Example: available 3, shortfall 0, a move of −10 becomes available −3 and shortfall −7; a later +8 becomes
    shortfall +7 and available +1.
    """
    divided: Moves = {}
    for slot, amount in moves.items():
        if slot.kind not in SHORTFALL_OF:
            divided[slot] = amount
            continue
        short = shortfall_slot(slot)
        place, missing = standing.get(slot, 0), standing.get(short, 0)
        position = place + missing + amount
        divided[slot] = max(position, 0) - place
        divided[short] = min(position, 0) - missing
    return {slot: amount for slot, amount in divided.items() if amount}


def shortfall_slot(slot: Slot) -> Slot:
    return Slot(SHORTFALL_OF[slot.kind], slot.ref)


def check_amount(name: str, amount: object, *, low: int = 1) -> int:
    """Returns the amount. Raises: BadInput  when it is not an int (bool is not) from `low` to MAX_AMOUNT."""
    if isinstance(amount, bool) or not isinstance(amount, int) or not low <= amount <= MAX_AMOUNT:
        raise BadInput(name, amount, f"a whole number of nano from {low} to {MAX_AMOUNT}")
    return amount
