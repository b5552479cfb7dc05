"""What the books say: balances, statements, totals, the state of the chain's readers, and the news since a cursor."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q, Sum
from django.utils import timezone

from ledger.accounting import SHORTFALL_OF, Kind
from ledger.models import Account, Cursor, Entry, Escrow, OutboxItem, Posting
from ledger.models import Settlement as SettlementRow
from ledger.service.results import Balances, ChainStatus, LedgerTotals, Settlement, StatementLine
from ledger.totals import indexed_totals

REACHABLE_S = 15  # the indexer asks the node at least every two seconds; several silent rounds mean trouble
USER_KINDS = [Kind.PENDING, Kind.AVAILABLE, Kind.UNLOCKING, Kind.CREDITS, Kind.PAYABLE]
LINE_STATUS = {Entry.Move.UNSETTLE: "unconfirmed", Entry.Move.UNREFUSE: "unconfirmed"}
ITEM_STATUS = {
    OutboxItem.Status.FINAL: "settled",
    OutboxItem.Status.OFFSET: "settled",
    OutboxItem.Status.REVERTED: "reverted",
    OutboxItem.Status.CANCELLED: "cancelled",
}


def balances(user_ref: str) -> Balances:
    """Returns what a user holds; zeros for one the ledger has never heard of."""
    held = dict(Account.objects.filter(owner__ref=user_ref).values_list("kind", "balance"))
    jobs = Escrow.objects.filter(user__ref=user_ref)
    locked = Account.objects.filter(
        owner__escrow__in=jobs, kind__in=[Kind.LOCKING, Kind.ESCROW, Kind.SHORT_ESCROW, Kind.RETURNING]
    ).aggregate(total=Sum("balance"))["total"]
    spent = jobs.filter(status=Escrow.Status.SETTLED).aggregate(total=Sum("used"))["total"]
    earned = earned_by(user_ref)
    return Balances(
        pending=held.get(Kind.PENDING, 0) + held.get(Kind.PAYABLE, 0),
        available=held.get(Kind.AVAILABLE, 0),
        unlocking=held.get(Kind.UNLOCKING, 0),
        credits=held.get(Kind.CREDITS, 0),
        locked=locked or 0,
        spent=spent or 0,
        earned_total=earned[OutboxItem.Kind.REWARD] + earned[OutboxItem.Kind.PAY],
        on_chain=earned[OutboxItem.Kind.REWARD],
    )


def earned_by(user_ref: str) -> dict[OutboxItem.Kind, int]:
    """Sums what left pending (rewards) and payable (payouts) of the user for good; un-confirmed amounts came back."""
    source = {OutboxItem.Kind.REWARD: Kind.PENDING, OutboxItem.Kind.PAY: Kind.PAYABLE}
    moved = Posting.objects.filter(
        account__owner__ref=user_ref, entry__move__in=[Entry.Move.SETTLE, Entry.Move.UNSETTLE]
    ).aggregate(
        **{
            kind.value: Sum("amount", filter=Q(entry__item__kind=kind, account__kind=place))
            for kind, place in source.items()
        }
    )
    return {kind: -(moved[kind.value] or 0) for kind in source}


def statement(
    user_ref: str, *, kind: str | None = None, limit: int = 200, before: int | None = None
) -> list[StatementLine]:
    """Returns the user's postings, newest first; `before` is the id of the last line already seen.

    `kind` keeps one kind of operation: reward, unlock, lock, settle, pay, release. Shortfalls are not shown: they are
    zero but for the time of a reorganisation.
    """
    lines = Posting.objects.filter(account__owner__ref=user_ref, account__kind__in=USER_KINDS)
    if kind is not None:
        lines = lines.filter(entry__item__kind=kind)
    if before is not None:
        lines = lines.filter(id__lt=before)
    lines = lines.select_related("entry__item__batch", "account").order_by("-id")
    return [line_of(line) for line in lines[: max(0, limit)]]


def line_of(line: Posting) -> StatementLine:
    entry, item = line.entry, line.entry.item
    batch = item.batch if item else None
    status = LINE_STATUS.get(Entry.Move(entry.move)) or (
        ITEM_STATUS.get(OutboxItem.Status(item.status), "pending") if item else "settled"
    )
    return StatementLine(
        id=line.pk,
        at=entry.at,
        kind=item.kind if item else entry.move,
        amount=line.amount,
        status=status,
        label_ref=item.ref if item else "",
        tx_hash=(batch.mined_tx or None) if batch else None,
        account=line.account.kind,
    )


def settlements_since(cursor: int, limit: int = 500) -> tuple[list[Settlement], int]:
    """Returns the news after `cursor` in order, and the cursor to ask with next. Can be replayed from 0.

    Only the indexer writes news, under one lock, so that no row can appear behind a cursor.
    """
    rows = SettlementRow.objects.filter(id__gt=cursor).order_by("id")[:limit]
    news = [Settlement(row.pk, row.kind, row.key, row.ref, row.status) for row in rows]
    return news, (news[-1].id if news else cursor)


def totals() -> LedgerTotals:
    """Returns the books' balance per kind beside the contract's sums as its indexed events add up to them."""
    sums = dict(Account.objects.order_by().values_list("kind").annotate(total=Sum("balance")))
    books = {kind.value: sums.get(kind.value, 0) for kind in Kind}
    books["shortfall"] = sum(sums.get(kind.value, 0) for kind in SHORTFALL_OF.values())
    cursor = Cursor.objects.order_by("-head_at").first()
    chain = indexed_totals(cursor.chain, cursor.number) if cursor else {}
    return LedgerTotals(books=books, chain=chain, block=cursor.number if cursor else -1)


def network_status(*, now: datetime | None = None) -> ChainStatus:
    """Returns where the chain and its readers stand, from the database alone: no page waits for a node."""
    cursor = Cursor.objects.order_by("-head_at").first()
    waiting = OutboxItem.objects.filter(
        status__in=[OutboxItem.Status.QUEUED, OutboxItem.Status.SEALED, OutboxItem.Status.SENT]
    ).count()
    if cursor is None or cursor.head_at is None:
        return ChainStatus(-1, -1, -1, waiting, None, False)
    lag = (now or timezone.now()) - cursor.head_at
    is_reachable = lag <= timedelta(seconds=getattr(settings, "HYDRA_CHAIN_REACHABLE_S", REACHABLE_S))
    return ChainStatus(cursor.head, cursor.number, cursor.final, waiting, lag.total_seconds(), is_reachable)
