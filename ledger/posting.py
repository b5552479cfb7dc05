"""The only writer of owners, accounts, entries and postings.

Locks the accounts of an entry in the order of their ids (PostgreSQL; SQLite's immediate transactions already admit one
writer), so that the balances looked at are the balances moved and two entries cannot wait for each other.
"""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from django.conf import settings
from django.db import transaction

from ledger.accounting import SHORTFALL_OF, Kind, Moves, Slot, absorb, balanced, shortfall_slot
from ledger.models import Account, Entry, Offset, OutboxItem, Owner, Posting, Seal
from ledger.models.writing import insert_values

Check = Callable[[Mapping[Slot, int]], None]
"""Looks at the locked balances before anything moves; raises to refuse. Slots without an account are absent."""


@dataclass(frozen=True)
class Reason:
    """Why something moves: which way, when, for which operation; `key` names entries that have no operation."""

    move: Entry.Move
    at: datetime
    item_id: int | None = None
    key: str | None = None


def chain_id_of(ref: str) -> str:
    """Returns the 32 bytes (hex) under which the chain knows a reference. Without the salt nobody can guess them."""
    return sha256(f"{settings.HYDRA_LEDGER_SALT}\x00{ref}".encode()).hexdigest()


def owner_of(ref: str) -> Owner:
    """Returns the owner with this reference, made when it is new."""
    owner, _ = Owner.objects.get_or_create(ref=ref, defaults={"chain_id": chain_id_of(ref)})
    return owner


def post(moves: Moves, reason: Reason, *, check: Check | None = None) -> None:
    """Writes one sealed entry; nothing when nothing moves.

    Raises: UnbalancedPosting; whatever `check` raises. Nothing is written then.
    """
    if moves:
        post_all([(moves, reason)], check=check)


@transaction.atomic
def post_all(plan: Sequence[tuple[Moves, Reason]], *, check: Check | None = None) -> None:
    """Writes the entries of a plan in order, one each, in a few statements altogether. Raises: as `post`."""
    plan = [(balanced(str(reason.move), moves), reason) for moves, reason in plan if moves]
    accounts = lock_accounts({slot for moves, _ in plan for slot in moves})
    standing = {slot: account.balance for slot, account in accounts.items()}
    if check:
        check(standing)
    ids = {slot: account.pk for slot, account in accounts.items()}
    written = []
    for moves, reason in plan:
        divided = absorb(moves, standing)
        for slot, amount in divided.items():
            standing[slot] = standing.get(slot, 0) + amount
        written.append(({find_id(slot, ids): amount for slot, amount in divided.items()}, reason))
    write(written)


def find_id(slot: Slot, ids: dict[Slot, int]) -> int:
    """Returns an account's id; a shortfall is opened when it is first needed, guarded by the lock on its place."""
    if slot not in ids:
        ids[slot] = Account.objects.get_or_create(owner=owner_of(slot.ref), kind=slot.kind)[0].pk
    return ids[slot]


def write(entries: Sequence[tuple[Mapping[int, int], Reason]]) -> None:
    """Writes entries (account id → amount), their postings, and last the seals, where the database looks at the sums."""
    seals = [uuid.uuid4() for _ in entries]
    keys = insert_values(
        Entry,
        [{"seal_id": seal, **vars(reason)} for seal, (_, reason) in zip(seals, entries, strict=True)],
    )
    insert_values(
        Posting,
        [
            {"entry_id": key, "account_id": account_id, "amount": amount}
            for key, (amounts, _) in zip(keys, entries, strict=True)
            for account_id, amount in sorted(amounts.items())
        ],
    )
    insert_values(Seal, [{"uid": seal} for seal in seals])


def lock_accounts(slots: Iterable[Slot]) -> dict[Slot, Account]:
    """Returns the accounts of these slots, made where missing, and their shortfalls where they exist; all locked."""
    wanted = set(slots)
    found = select_accounts(wanted)
    if missing := wanted - found.keys():
        Account.objects.bulk_create(
            [Account(owner=owner_of(slot.ref), kind=slot.kind) for slot in sorted(missing)],
            ignore_conflicts=True,
        )
        found = select_accounts(wanted)
    return found


def select_accounts(slots: set[Slot]) -> dict[Slot, Account]:
    slots = slots | {shortfall_slot(slot) for slot in slots if slot.kind in SHORTFALL_OF}
    rows = (
        Account.objects.select_for_update(of=("self",))
        .filter(owner__ref__in={slot.ref for slot in slots}, kind__in={slot.kind for slot in slots})
        .select_related("owner")
        .order_by("id")
    )
    return {slot: row for row in rows if (slot := Slot(Kind(row.kind), row.owner.ref)) in slots}


def move_offsets(item: OutboxItem, sign: int) -> None:
    """Makes the parts that a reward held back owed again (+1, the reward did not come about) or held back again (−1)."""
    for offset_id, part in item.detail.get("offset_ids", []):
        offset = Offset.objects.select_for_update().get(pk=offset_id)
        offset.remaining = min(max(offset.remaining + sign * part, 0), offset.amount)
        offset.save(update_fields=["remaining"])
