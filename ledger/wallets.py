"""Deposits and withdrawals by wallets: nobody asks the books before, so their events alone move them, once final."""

from collections.abc import Mapping
from datetime import datetime

from django.db.models import QuerySet

from ledger import accounting
from ledger.models import ChainEventRow, Entry, Owner
from ledger.posting import Reason, post

NAMES = ("Deposited", "Withdrawn")


def waiting(chain: str, final: int) -> QuerySet[ChainEventRow]:
    """Returns the final events of wallets that are not in the books yet."""
    return ChainEventRow.objects.filter(
        chain=chain, name__in=NAMES, canonical=True, posted=False, block_number__lte=final
    )


def post_final(chain: str, final: int, now: datetime) -> int:
    """Posts what waits; returns how many. An event of an unknown account waits on: `reconcile` shows it."""
    return sum(turn(row, True, now) for row in waiting(chain, final).order_by("block_number", "log_index"))


def undo_above(chain: str, number: int, now: datetime) -> int:
    rows = ChainEventRow.objects.filter(chain=chain, posted=True, block_number__gt=number)
    return sum(turn(row, False, now) for row in rows.order_by("-block_number", "-log_index"))


def turn(row: ChainEventRow, posted: bool, now: datetime) -> int:
    owner = Owner.objects.filter(chain_id=account_hex(row.args)).first()
    if owner is None or not ChainEventRow.objects.filter(pk=row.pk, posted=not posted).update(posted=posted):
        return 0
    is_deposit = (row.name == "Deposited") == posted
    moves = (accounting.deposit if is_deposit else accounting.withdraw)(owner.ref, row.args["amount"])
    post(moves, Reason(Entry.Move.DEPOSIT if is_deposit else Entry.Move.WITHDRAW, now))
    return 1


def account_hex(args: Mapping) -> str:
    return str(args.get("account", "")).removeprefix("0x")
