"""Many rewards at once: what a verdict over a thousand items reserves, in a few statements for each hundred of them.

Means the same as `reserve_reward` one after the other, and leaves the rare cases to it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import IntegrityError, transaction
from django.utils import timezone

from ledger.accounting import Kind, Reward, Slot, check_amount, request
from ledger.errors import BadInput, BudgetExhausted
from ledger.models import Entry, Offset, OutboxItem, Owner
from ledger.models.writing import insert_values
from ledger.posting import Reason, owner_of, post_all
from ledger.service.outbox import fingerprint_of
from ledger.service.results import RewardEntry, RewardRequest
from ledger.service.rewards import reserve_reward

BATCH = 500
REWARD = OutboxItem.Kind.REWARD


def reserve_rewards(wanted: Sequence[RewardRequest]) -> list[RewardEntry]:
    """Reserves all of the rewards or none; one entry each, in order.

    Raises: as `reserve_reward`; BudgetExhausted names what all new ones of a campaign ask for together.
    """
    for one in wanted:
        check_amount("amount", one.amount)
        if len(one.evidence_hash) != 32:
            raise BadInput("evidence_hash", one.evidence_hash, "32 bytes")
    with transaction.atomic():
        if _is_plain(wanted):
            try:
                with transaction.atomic():
                    return _reserve(wanted)
            except IntegrityError:  # a rival claimed one of the keys in between
                pass
        return [reserve_reward(one) for one in wanted]


def _is_plain(wanted: Sequence[RewardRequest]) -> bool:
    """Whether every key is new and usable, and nothing is owed by a beneficiary: no row needs a decision of its own."""
    keys = {one.key for one in wanted}
    if len(keys) != len(wanted) or not all(0 < len(key) <= 190 for key in keys):
        return False
    ordered = sorted(keys)
    for start in range(0, len(ordered), BATCH):
        if OutboxItem.objects.filter(kind=REWARD, key__in=ordered[start : start + BATCH]).exists():
            return False
    users = {one.beneficiary_ref for one in wanted}
    return not Offset.objects.filter(item__user__ref__in=users, remaining__gt=0).exists()


def _reserve(wanted: Sequence[RewardRequest]) -> list[RewardEntry]:
    now = timezone.now()
    refs = {one.campaign_ref for one in wanted} | {one.beneficiary_ref for one in wanted}
    owners = {ref: owner_of(ref) for ref in sorted(refs)}
    keys = insert_values(OutboxItem, [_values(one, owners, now) for one in wanted])
    plan = [
        (request(_operation(one)), Reason(Entry.Move.REQUEST, now, key))
        for one, key in zip(wanted, keys, strict=True)
    ]
    post_all(plan, check=lambda standing: _check_budgets(wanted, standing))
    return [RewardEntry(one.key, "reserved", one.amount, paid=one.amount) for one in wanted]


def _check_budgets(wanted: Sequence[RewardRequest], standing: Mapping[Slot, int]) -> None:
    asked: dict[str, int] = {}
    for one in wanted:
        asked[one.campaign_ref] = asked.get(one.campaign_ref, 0) + one.amount
    for campaign, amount in asked.items():
        remaining = standing.get(Slot(Kind.BUDGET, campaign), 0)
        if remaining < amount:
            raise BudgetExhausted(amount, remaining)


def _operation(one: RewardRequest) -> Reward:
    return Reward(one.campaign_ref, one.beneficiary_ref, one.amount)


def _values(one: RewardRequest, owners: Mapping[str, Owner], now: datetime) -> dict[str, object]:
    evidence = one.evidence_hash.hex()
    return {
        "kind": REWARD.value,
        "key": one.key,
        "fingerprint": fingerprint_of({**vars(one), "evidence_hash": evidence}),
        "created_at": now,
        "user_id": owners[one.beneficiary_ref].pk,
        "campaign_id": owners[one.campaign_ref].pk,
        "amount": one.amount,
        "ref": one.contribution_ref,
        "evidence": evidence,
        "policy_version": one.policy_version,
    }
