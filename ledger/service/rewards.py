"""Budgets and rewards: fund a campaign, reserve for an accepted contribution, cancel."""

from collections.abc import Iterable, Mapping

from django.db import IntegrityError, transaction
from django.db.models import F, Q, Sum
from django.utils import timezone

from ledger import evidence
from ledger.accounting import Kind, Slot, check_amount, fund, inverse, request
from ledger.errors import BadInput, BudgetExhausted, KeyReused, UnknownReward
from ledger.models import Account, Entry, Offset, OutboxItem, Owner
from ledger.operations import leaf_of, operation_of, paid_amount
from ledger.posting import Reason, move_offsets, owner_of, post
from ledger.rules import split_offsets
from ledger.service.outbox import submit
from ledger.service.results import Budget, RewardEntry, RewardProof, RewardRequest

REWARD = OutboxItem.Kind.REWARD
Status = OutboxItem.Status
SHOWN = {
    Status.QUEUED: "reserved",
    Status.SEALED: "batched",
    Status.SENT: "sent",
    Status.FINAL: "settled",
    Status.OFFSET: "settled",
    Status.CANCELLED: "cancelled",
    Status.REVERTED: "reverted",
}


def fund_campaign(campaign_ref: str, amount: int, *, key: str) -> None:
    """Issues `amount` nano to the campaign's budget, once for each key.

    Raises: BadInput; KeyReused when the key has funded another campaign or amount.
    """
    check_amount("amount", amount)
    moves, entry_key = fund(campaign_ref, amount), f"fund:{key}"
    try:
        if not is_funded(entry_key, campaign_ref, amount):
            post(moves, Reason(Entry.Move.FUND, timezone.now(), key=entry_key))
    except IntegrityError:  # a rival with the same key was first; post() has rolled back its savepoint
        if not is_funded(entry_key, campaign_ref, amount):
            raise


def is_funded(entry_key: str, campaign_ref: str, amount: int) -> bool:
    entry = Entry.objects.filter(key=entry_key).first()
    if entry is None:
        return False
    line = entry.postings.filter(account__kind=Kind.BUDGET).select_related("account__owner").first()
    if line is None or (line.account.owner.ref, line.amount) != (campaign_ref, amount):
        raise KeyReused(entry_key.removeprefix("fund:"))
    return True


def campaign_budget(campaign_ref: str) -> Budget:
    """What a campaign was given and where it stands. Rewards that are not final count as reserved, and what was held
    back from later rewards for cancelled ones has left `settled` again."""
    accounts = dict(
        Account.objects.filter(
            owner__ref=campaign_ref, kind__in=[Kind.BUDGET, Kind.SHORT_BUDGET]
        ).values_list("kind", "balance")
    )
    items = OutboxItem.objects.filter(kind=REWARD, campaign__ref=campaign_ref)
    sums = items.aggregate(
        settled=Sum("amount", filter=Q(status__in=[Status.FINAL, Status.OFFSET])),
        reserved=Sum("amount", filter=Q(status__in=[Status.QUEUED, Status.SEALED, Status.SENT])),
    )
    owed = Offset.objects.filter(item__campaign__ref=campaign_ref, item__status=Status.FINAL)
    won_back = owed.aggregate(total=Sum(F("amount") - F("remaining")))["total"] or 0
    remaining, reserved = sum(accounts.values()), sums["reserved"] or 0
    settled = (sums["settled"] or 0) - won_back
    return Budget(
        funded=remaining + reserved + settled, reserved=reserved, settled=settled, remaining=remaining
    )


def reserve_reward(wanted: RewardRequest) -> RewardEntry:
    """Takes the reward from the campaign's budget and queues it for the contract.

    The same key with the same body answers the same entry. What is owed for rewards cancelled after they were sealed
    is held back and goes to the budgets that paid for those.
    Raises: BadInput, KeyReused, BudgetExhausted; nothing is reserved then.
    """
    check_amount("amount", wanted.amount)
    if len(wanted.evidence_hash) != 32:
        raise BadInput("evidence_hash", wanted.evidence_hash, "32 bytes")
    held: list[tuple[str, int]] = []

    def build() -> Mapping[str, object]:
        return build_reward(wanted, held)

    def check(standing: Mapping[Slot, int]) -> None:
        remaining = standing.get(Slot(Kind.BUDGET, wanted.campaign_ref), 0)
        if remaining + sum(part for ref, part in held if ref == wanted.campaign_ref) < wanted.amount:
            raise BudgetExhausted(wanted.amount, remaining)

    body = {**vars(wanted), "evidence_hash": wanted.evidence_hash.hex()}
    return entry_of(submit(REWARD, wanted.key, body, build, check=check))


def build_reward(wanted: RewardRequest, held: list[tuple[str, int]]) -> Mapping[str, object]:
    """Returns the row's fields; `held` receives what is held back, as (campaign, part)."""
    user = owner_of(wanted.beneficiary_ref)
    parts = hold_back(user, wanted.amount)
    held.extend((ref, part) for _, ref, part in parts)
    return {
        "user": user,
        "campaign": owner_of(wanted.campaign_ref),
        "amount": wanted.amount,
        "ref": wanted.contribution_ref,
        "evidence": wanted.evidence_hash.hex(),
        "policy_version": wanted.policy_version,
        "detail": {"offsets": held, "offset_ids": [(offset_id, part) for offset_id, _, part in parts]}
        if held
        else {},
        "status": Status.OFFSET if sum(part for _, part in held) == wanted.amount else Status.QUEUED,
    }


def hold_back(user: Owner, amount: int) -> list[tuple[int, str, int]]:
    """Uses up the user's debts up to `amount`; returns (offset id, campaign that gets it back, part)."""
    owed = {
        offset.pk: offset
        for offset in Offset.objects.select_for_update(of=("self",))
        .filter(item__user=user, item__status=Status.FINAL, remaining__gt=0)
        .select_related("item__campaign")
        .order_by("id")
    }
    parts = []
    for offset_id, part in split_offsets(amount, [(pk, offset.remaining) for pk, offset in owed.items()]):
        offset = owed[offset_id]
        offset.remaining -= part
        offset.save(update_fields=["remaining"])
        parts.append((offset_id, offset.item.campaign.ref if offset.item.campaign else "", part))
    return parts


@transaction.atomic
def cancel_reward(key: str, *, reason: str) -> RewardEntry:
    """Takes a reward back: before it is sealed into the budget, afterwards as an offset against the next reward.

    Idempotent. Raises: UnknownReward.
    """
    item = (
        OutboxItem.objects.select_for_update(of=("self",))
        .filter(kind=REWARD, key=key)
        .select_related("user", "campaign", "batch")
        .first()
    )
    if item is None:
        raise UnknownReward(key)
    now = timezone.now()
    if item.status in {Status.QUEUED, Status.OFFSET}:
        post(inverse(request(operation_of(item))), Reason(Entry.Move.CANCEL, now, item.pk))
        move_offsets(item, 1)
        item.status = Status.CANCELLED
        item.save(update_fields=["status"])
    elif item.status in {Status.SEALED, Status.SENT, Status.FINAL}:
        paid = paid_amount(item)
        defaults = {"amount": paid, "remaining": paid, "reason": reason[:300], "created_at": now}
        Offset.objects.get_or_create(item=item, defaults=defaults)
    return entry_of(item)


def rewards(keys: Iterable[str]) -> dict[str, RewardEntry]:
    """Returns the entries of the keys that are known."""
    items = OutboxItem.objects.filter(kind=REWARD, key__in=list(keys)).select_related("batch", "offset")
    return {item.key: entry_of(item) for item in items}


def entry_of(item: OutboxItem) -> RewardEntry:
    batch, offset = item.batch, getattr(item, "offset", None)
    return RewardEntry(
        key=item.key,
        status=SHOWN[Status(item.status)],
        amount=item.amount,
        number=item.number,
        tx_hash=(batch.mined_tx or None) if batch else None,
        block=batch.mined_number if batch else None,
        paid=paid_amount(item),
        offset=offset.remaining if offset else 0,
    )


def reward_proof(key: str) -> RewardProof:
    """Returns what a stranger needs to check a reward against the root in its batch's event.

    Raises: UnknownReward, also while the reward has no number yet.
    """
    item = OutboxItem.objects.filter(kind=REWARD, key=key).select_related("batch").first()
    if item is None or item.batch is None or item.number is None:
        raise UnknownReward(key)
    leaves = [leaf_of(row) for row in item.batch.items.order_by("number")]
    index = item.number - (item.batch.first or 0)
    leaf = leaves[index]
    return RewardProof(
        number=leaf.number,
        contribution=leaf.contribution.hex(),
        evidence=leaf.evidence.hex(),
        policy_version=leaf.policy_version,
        siblings=tuple(sibling.hex() for sibling in evidence.proof_of(leaves, index)),
        root=evidence.root_of(leaves).hex(),
        tx_hash=item.batch.mined_tx or None,
    )
