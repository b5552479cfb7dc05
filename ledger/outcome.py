"""What a batch's final outcome does to the books, and how it is undone when its block is reorganised away.

Leaves it to the indexer to know that an outcome is final, and to posting to write.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from ledger import accounting
from ledger.models import Batch, Entry, Escrow, OutboxItem, Settlement
from ledger.operations import operation_of
from ledger.posting import Reason, move_offsets, post_all
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
    plan = planned(batch, succeeded=succeeded)
    move = Entry.Move.SETTLE if succeeded else Entry.Move.REFUSE
    post_all([(moves, Reason(move, at, item.pk)) for item, moves in plan])
    items = [item for item, _ in plan]
    if succeeded:
        turn(items, Status.FINAL, Settlement.Status.SETTLED, at)
    else:
        turn(items, Status.REVERTED, Settlement.Status.REVERTED, at)
        for item in items:
            move_offsets(item, 1)
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
    plan = planned(batch, succeeded=succeeded)[::-1]
    move = Entry.Move.UNSETTLE if succeeded else Entry.Move.UNREFUSE
    post_all([(accounting.inverse(moves), Reason(move, at, item.pk)) for item, moves in plan])
    turn([item for item, _ in plan], Status.SENT, Settlement.Status.UNCONFIRMED, at)
    if not succeeded:
        for item, _ in plan:
            move_offsets(item, -1)
    refresh_escrows(batch)
    return True


def planned(batch: Batch, *, succeeded: bool) -> list[tuple[OutboxItem, accounting.Moves]]:
    """Returns each item of the batch, in the outbox's order, with what its outcome moves."""
    items = batch.items.select_related("user", "campaign", "job").order_by("id")
    return [(item, moves_of(item, succeeded=succeeded)) for item in items]


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


def turn(items: Sequence[OutboxItem], status: Status, news: Settlement.Status, at: datetime) -> None:
    settled_at = at if status == Status.FINAL else None
    OutboxItem.objects.filter(pk__in=[item.pk for item in items]).update(status=status, settled_at=settled_at)
    Settlement.objects.bulk_create(
        Settlement(kind=item.kind, key=item.key, ref=item.ref, status=news, at=at) for item in items
    )


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
