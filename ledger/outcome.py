"""What a batch's final outcome does to the books, and how it is undone when its block is reorganised away.

Leaves it to the indexer to know that an outcome is final, and to posting to write.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from ledger import accounting
from ledger.models import Batch, Entry, Escrow, OutboxItem, Settlement
from ledger.operations import operation_of
from ledger.posting import Reason, lock_accounts, move_offsets, post
from ledger.rules import escrow_status

Status = OutboxItem.Status
Kinds = OutboxItem.Kind


@transaction.atomic
def conclude(batch: Batch, at: datetime) -> bool:
    """Posts a mined batch's outcome. False when another process has done it: then nothing was written."""
    succeeded = bool(batch.mined_ok)
    status = Batch.Status.FINAL if succeeded else Batch.Status.REVERTED
    if not Batch.objects.filter(pk=batch.pk, status=Batch.Status.SENT).update(status=status, final_at=at):
        return False
    for item, moves in planned(batch, succeeded=succeeded):
        post(moves, Reason(Entry.Move.SETTLE if succeeded else Entry.Move.REFUSE, at, item))
        if not succeeded:
            move_offsets(item, 1)
        news = Settlement.Status.SETTLED if succeeded else Settlement.Status.REVERTED
        turn(item, Status.FINAL if succeeded else Status.REVERTED, news, at)
    refresh_escrows(batch)
    return True


@transaction.atomic
def undo(batch: Batch, at: datetime) -> bool:
    """Takes a concluded outcome back, by its exact inverse: the batch counts as sent again."""
    succeeded = batch.status == Batch.Status.FINAL
    if not Batch.objects.filter(pk=batch.pk, status=batch.status).update(
        status=Batch.Status.SENT, final_at=None
    ):
        return False
    for item, moves in reversed(planned(batch, succeeded=succeeded)):
        move = Entry.Move.UNSETTLE if succeeded else Entry.Move.UNREFUSE
        post(accounting.inverse(moves), Reason(move, at, item))
        if not succeeded:
            move_offsets(item, -1)
        turn(item, Status.SENT, Settlement.Status.UNCONFIRMED, at)
    refresh_escrows(batch)
    return True


def planned(batch: Batch, *, succeeded: bool) -> list[tuple[OutboxItem, accounting.Moves]]:
    """Returns each item with what its outcome moves, all accounts locked in the order of their ids beforehand."""
    items = list(batch.items.select_related("user", "campaign", "job", "batch").order_by("id"))
    plan = [(item, moves_of(item, succeeded=succeeded)) for item in items]
    lock_accounts({slot for _, moves in plan for slot in moves})
    return plan


def moves_of(item: OutboxItem, *, succeeded: bool) -> accounting.Moves:
    operation = operation_of(item)
    if succeeded:
        return accounting.settle(operation)
    return accounting.refuse(operation, settle_refused=is_settlement_refused(item))


def is_settlement_refused(item: OutboxItem) -> bool:
    """A chunk of payouts follows its settlement in the outbox, so the settlement's outcome is known by then."""
    if item.kind != Kinds.PAY:
        return False
    settlement_key = item.key.rpartition("/")[0]
    return OutboxItem.objects.filter(kind=Kinds.SETTLE, key=settlement_key, status=Status.REVERTED).exists()


def turn(item: OutboxItem, status: Status, news: Settlement.Status, at: datetime) -> None:
    settled_at = at if status == Status.FINAL else None
    OutboxItem.objects.filter(pk=item.pk).update(status=status, settled_at=settled_at)
    Settlement.objects.create(kind=item.kind, key=item.key, ref=item.ref, status=news, at=at)


def refresh_escrows(batch: Batch) -> None:
    for job_id in batch.items.exclude(job=None).values_list("job_id", flat=True).distinct():
        items = list(OutboxItem.objects.filter(job_id=job_id).order_by("id"))
        Escrow.objects.filter(job_id=job_id).update(status=status_of(items))


def status_of(items: Sequence[OutboxItem]) -> str:
    """Returns an escrow's status from its job's items, oldest first."""
    lock = next(item.status for item in items if item.kind == Kinds.LOCK)
    closing = [item for item in items if item.kind in {Kinds.SETTLE, Kinds.RELEASE}]
    last = closing[-1] if closing else None
    payouts = [
        item.status
        for item in items
        if item.kind == Kinds.PAY and last and item.key.startswith(f"{last.key}/")
    ]
    is_release = last is not None and last.kind == Kinds.RELEASE
    return escrow_status(lock, last.status if last else None, payouts, is_release=is_release)
