"""Compares contract, books and outbox, and says in words where they differ. Changes nothing but alarms.

Each check returns findings. What is on its way is no finding: the books of what is final, the outbox's batches and the
contract's events must agree among each other, and the events must add up to what the contract itself says.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime

from django.db import connection, transaction
from django.db.models import Count, Q, Sum

from ledger import guards
from ledger.accounting import NEGATIVE_KINDS, SHORTFALL_OF, Kind
from ledger.chain.port import Chain
from ledger.models import Account, Alarm, Batch, ChainEventRow, Cursor, Entry, Offset, OutboxItem, Owner
from ledger.operations import paid_amount
from ledger.sealed_calls import decode, find_difference
from ledger.totals import SUMS, indexed_totals
from ledger.wallets import NAMES as WALLET_EVENTS

Status = OutboxItem.Status
FLYING = (Status.QUEUED, Status.SEALED, Status.SENT)
TRIES = 5  # of reading totals at a block that stays the head: the chain may move meanwhile


@dataclass(frozen=True)
class Finding:
    """`code` is stable; `subject` names what it is about."""

    code: str
    subject: str
    detail: str


def reconcile(chain: Chain | None, name: str) -> list[Finding]:
    """Runs every check at one moment of the database. Without a chain the contract's own sums are not asked.

    Raises: ChainUnavailable.
    """
    with transaction.atomic():
        findings = [finding for check in BOOK_CHECKS for finding in check()]
        findings += [finding for check in EVENT_CHECKS for finding in check(name)]
    return findings + (list(check_contract(chain, name)) if chain else [])


# -- the books by themselves


def check_guards() -> Iterator[Finding]:
    for name in guards.find_missing(connection):
        yield Finding("guard-missing", name, "the database no longer refuses wrong books; run guards.install")


def check_entries() -> Iterator[Finding]:
    wrong = Entry.objects.annotate(total=Sum("postings__amount"), lines=Count("postings")).filter(
        ~Q(total=0) | Q(lines__lt=2)
    )
    for entry in wrong[:20]:
        yield Finding("unbalanced", f"entry {entry.pk}", f"its {entry.lines} postings sum to {entry.total}")


def check_balances() -> Iterator[Finding]:
    for account in Account.objects.select_related("owner").annotate(total=Sum("postings__amount")).iterator():
        who = f"{account.kind} of {account.owner.ref}"
        if account.balance != (account.total or 0):
            yield Finding("balance", who, f"balance {account.balance}, postings {account.total or 0}")
        if account.balance * (-1 if account.kind in NEGATIVE_KINDS else 1) < 0:
            yield Finding("sign", who, f"balance {account.balance}")


def check_shortfalls() -> Iterator[Finding]:
    """A shortfall stands only while something that was final is on its way again."""
    if OutboxItem.objects.filter(status__in=[Status.SEALED, Status.SENT]).exists():
        return
    kinds = [*SHORTFALL_OF.values(), Kind.UNPAID]
    for account in Account.objects.filter(kind__in=kinds).exclude(balance=0).select_related("owner"):
        yield Finding(
            "stuck", f"{account.kind} of {account.owner.ref}", f"{account.balance} with nothing on its way"
        )


def check_in_flight() -> Iterator[Finding]:
    """What stands in the places of in-flight operations is exactly what the open operations moved there."""
    held = dict(Account.objects.order_by().values_list("kind").annotate(total=Sum("balance")))
    for place, amount in in_flight().items():
        if held.get(place, 0) != amount:
            yield Finding("in-flight", place, f"the books hold {held.get(place, 0)}, the outbox {amount}")


def in_flight() -> dict[Kind, int]:
    """Returns what the outbox's open operations moved into each place of their own."""
    place_of = {"reward": Kind.PENDING, "unlock": Kind.UNLOCKING, "lock": Kind.LOCKING, "pay": Kind.PAYABLE}
    sums = dict.fromkeys(place_of.values(), 0)
    for item in OutboxItem.objects.filter(status__in=FLYING, kind__in=place_of).iterator():
        sums[place_of[item.kind]] += paid_amount(item)
    return sums


def check_outbox() -> Iterator[Finding]:
    for batch in Batch.objects.annotate(rows=Count("items")).exclude(count=0):
        if batch.rows != batch.count:
            yield Finding("batch", f"batch {batch.pk}", f"sealed with {batch.count} items, has {batch.rows}")
    for offset in Offset.objects.filter(item__status=Status.REVERTED):
        yield Finding(
            "offset", f"item {offset.item_id}", "a reward was held back elsewhere, then never came about"
        )


def check_alarms() -> Iterator[Finding]:
    for alarm in Alarm.objects.filter(closed_at=None):
        if alarm.code not in OWN_CODES:
            yield Finding(alarm.code, alarm.subject, alarm.detail)


# -- books and outbox against the events that were read


def check_final_batches(chain: str) -> Iterator[Finding]:
    """Every final batch has exactly the events that its call says, with the books' accounts and amounts."""
    for batch in Batch.objects.filter(status=Batch.Status.FINAL).iterator():
        rows = ChainEventRow.objects.filter(chain=chain, canonical=True, tx_hash=batch.mined_tx).order_by(
            "log_index"
        )
        difference = find_difference(decode(batch.call), [(row.name, row.args) for row in rows])
        if difference:
            yield Finding("events", f"batch {batch.pk}", difference)


def check_strangers(chain: str) -> Iterator[Finding]:
    """Every event comes from a batch of ours, or from a wallet; and each reward number comes once."""
    ours = Batch.objects.exclude(mined_tx="").values("mined_tx")
    final = Cursor.objects.filter(chain=chain).values_list("final", flat=True).first() or -1
    events = ChainEventRow.objects.filter(chain=chain, canonical=True, block_number__lte=final)
    for row in events.exclude(name__in=WALLET_EVENTS).exclude(tx_hash__in=ours)[:20]:
        yield Finding(
            "stranger", row.tx_hash, f"{row.name} in block {row.block_number} comes from no batch of ours"
        )
    for row in events.filter(name__in=WALLET_EVENTS, posted=False)[:20]:
        yield Finding("wallet", row.tx_hash, f"{row.name} of an account that the books do not know")


def check_sums(chain: str) -> Iterator[Finding]:
    """The books' places and the events up to the final block give the same sums."""
    cursor = Cursor.objects.filter(chain=chain).first()
    if cursor is None:
        return
    events = indexed_totals(chain, cursor.final)
    late = Batch.objects.filter(status=Batch.Status.SENT, mined_number__lte=cursor.final).exists()
    if late or ChainEventRow.objects.filter(chain=chain, name__in=WALLET_EVENTS, posted=False).exists():
        return  # the indexer is in the middle of it
    for column, amount in books_as_contract().items():
        if amount != events[column]:
            yield Finding(
                "sums", column, f"the books say {amount}, the events up to {cursor.final} {events[column]}"
            )


def books_as_contract() -> dict[str, int]:
    """Returns the contract's sums as the books imply them: in-flight places still count where the contract has them."""
    held = dict.fromkeys(Kind, 0) | {
        Kind(kind): total
        for kind, total in Account.objects.order_by().values_list("kind").annotate(total=Sum("balance"))
    }
    settling = OutboxItem.objects.filter(
        kind__in=[OutboxItem.Kind.SETTLE, OutboxItem.Kind.RELEASE],
        status__in=FLYING,
    )
    closing = sum(item.detail.get("maximum", item.amount) for item in settling)
    final_payouts = held[Kind.PAYABLE] - sum(
        sum(amount for _, amount in item.detail.get("payouts", [])) for item in settling
    )
    available = held[Kind.AVAILABLE] + held[Kind.SHORT_AVAILABLE] + held[Kind.UNLOCKING]
    credits = held[Kind.CREDITS] + held[Kind.SHORT_CREDITS] + held[Kind.LOCKING]
    locked = held[Kind.ESCROW] + held[Kind.SHORT_ESCROW] + closing
    spent = held[Kind.BURNED] + held[Kind.UNPAID] + final_payouts
    supply = held[Kind.WALLETS]
    return {
        "available": available,
        "credits": credits,
        "locked": locked,
        "spent": spent,
        "supply": supply,
        "recorded": available + credits + locked + spent + supply,
    }


# -- the contract itself


def check_contract(chain: Chain, name: str) -> Iterator[Finding]:
    """The contract's own sums, and those of every account, are what its events add up to."""
    block = read_at_one_block(chain, name)
    if block is None:
        yield Finding("behind", name, "the indexer has not read up to the chain's head; run it and try again")
        return
    number, totals = block
    events = indexed_totals(name, number)
    for column in SUMS:
        if totals[column] != events[column]:
            yield Finding(
                "contract", column, f"the contract says {totals[column]}, its events {events[column]}"
            )
    held = totals["available"] + totals["credits"] + totals["locked"] + totals["spent"] + totals["supply"]
    if totals["recorded"] != held:
        yield Finding("contract", "recorded", f"{totals['recorded']} recorded, {held} held")
    yield from check_accounts(chain, name, number)


def read_at_one_block(chain: Chain, name: str) -> tuple[int, dict[str, int]] | None:
    """Returns a block that is read and was the head before and after the contract answered; None when there is none."""
    for _ in range(TRIES):
        before = chain.head()
        totals = asdict(chain.totals())
        cursor = Cursor.objects.filter(chain=name).first()
        if chain.head().hash == before.hash and cursor and cursor.hash == before.hash:
            return before.number, totals
    return None


def check_accounts(chain: Chain, name: str, number: int) -> Iterator[Finding]:
    """Asks the contract for every account that has an event: one question each, so this is for operators, not pages."""
    expected = accounts_from_events(name, number)
    refs = dict(Owner.objects.values_list("chain_id", "ref"))
    for account, (available, credits) in sorted(expected.items()):
        state = chain.account(bytes.fromhex(account))
        if (state.available, state.credits) != (available, credits):
            who = refs.get(account, account)
            detail = f"the contract has {state.available} and {state.credits}, its events {available} and {credits}"
            yield Finding("account", who, detail)


def accounts_from_events(name: str, number: int) -> dict[str, tuple[int, int]]:
    """Returns available and credits of each account (hex) after the events up to a block."""
    held: dict[str, list[int]] = {}
    rows = ChainEventRow.objects.filter(chain=name, canonical=True, block_number__lte=number)
    for event, args in rows.values_list("name", "args").iterator(chunk_size=2000):
        if event not in ACCOUNT_EFFECTS:
            continue
        available, credits, argument = ACCOUNT_EFFECTS[event]
        pair = held.setdefault(str(args["account"]).removeprefix("0x"), [0, 0])
        pair[0] += available * args[argument]
        pair[1] += credits * args[argument]
    return {account: (pair[0], pair[1]) for account, pair in held.items()}


ACCOUNT_EFFECTS = {
    "RewardRecorded": (1, 0, "amount"),
    "Unlocked": (-1, 1, "amount"),
    "Locked": (0, -1, "maximum"),
    "Settled": (0, 1, "returned"),
    "WorkerPaid": (1, 0, "amount"),
    "Released": (0, 1, "amount"),
    "Deposited": (1, 0, "amount"),
    "Withdrawn": (-1, 0, "amount"),
}
BOOK_CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    check_guards,
    check_entries,
    check_balances,
    check_shortfalls,
    check_in_flight,
    check_outbox,
    check_alarms,
)
EVENT_CHECKS: tuple[Callable[[str], Iterator[Finding]], ...] = (
    check_final_batches,
    check_strangers,
    check_sums,
)
OWN_CODES = {"reconcile"}


def sound_alarm(findings: list[Finding], now: datetime) -> None:
    """Keeps one open alarm that counts the findings; closes it when there are none."""
    open_alarm = Alarm.objects.filter(code="reconcile", subject="books", closed_at=None)
    if not findings:
        open_alarm.update(closed_at=now)
        return
    detail = (
        f"{len(findings)} findings, first: {findings[0].code} {findings[0].subject}: {findings[0].detail}"[
            :500
        ]
    )
    if not open_alarm.update(detail=detail):
        Alarm.objects.create(code="reconcile", subject="books", detail=detail, opened_at=now)
