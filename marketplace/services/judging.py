"""Verdicts take effect here and nowhere else: state, verdict row, reward and reservation in one transaction.

Who may judge is services.moderation's to ask; what the policy says is rules.admission's.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Max

from ledger import service as ledger
from ledger.service import RewardRequest
from marketplace.errors import BudgetShort, Conflict
from marketplace.models import Campaign, Evidence, Item, User, Verdict
from marketplace.models.writing import insert_rows, new_row, update_rows
from marketplace.rules import evidence as proofs
from marketplace.rules import reward as rewards
from marketplace.rules.admission import BUDGET_EXHAUSTED, RECEIPT, fill_policy
from marketplace.rules.money import format_hyd
from marketplace.rules.reward import Balance, Reward
from marketplace.selectors.campaigns import attribute_rows
from marketplace.services.books import translated
from marketplace.services.findings import evidence_row, novelty_of, score_of
from marketplace.validators.finding import Finding

Outcome = Verdict.Outcome
ITEM_FIELDS = (
    "state", "reason", "needs_review", "quality", "novelty", "scarcity", "reward", "reward_key",
    "reward_status", "decided_at",
)  # fmt: skip
STATE_OF = {
    Outcome.ACCEPTED: Item.State.ACCEPTED,
    Outcome.REJECTED: Item.State.REJECTED,
    Outcome.DUPLICATE: Item.State.DUPLICATE,
    Outcome.NEEDS_REVIEW: Item.State.PENDING,
}


@dataclass(frozen=True)
class Ruling:
    """One verdict about to take effect. `moderator` None: by the campaign's policy."""

    item: Item
    outcome: str
    reason: str
    moderator: User | None = None
    duplicate_of_id: int | None = None


EvidenceOf = Mapping[int, Sequence[Evidence]]


def apply_rulings(
    campaign: Campaign, rulings: Sequence[Ruling], evidence: EvidenceOf, *, now: datetime
) -> list[Verdict]:
    """Makes the rulings on items of one campaign take effect, all or none; the caller holds a transaction and the rows.

    An acceptance that the budget does not cover stays with a person where the policy ruled, and fails where a
    moderator did. `evidence` is of saved rows, by the item's primary key.
    Raises: BudgetShort, Conflict.
    """
    before = {ruling.item.pk: ruling.item.state for ruling in rulings}
    priced = _price(campaign, [r.item for r in rulings if r.outcome == Outcome.ACCEPTED], rulings, evidence)
    rulings = _within_budget(campaign, rulings, priced)
    sequences = _next_sequences(rulings)
    verdicts = [_verdict(campaign, ruling, sequences[ruling.item.pk]) for ruling in rulings]
    accepted = [r for r in rulings if r.outcome == Outcome.ACCEPTED]
    receipts = {r.item.pk: _receipt(r.item, priced[r.item.pk], campaign) for r in accepted}
    for ruling in rulings:
        _set_fields(ruling, priced.get(ruling.item.pk), sequences[ruling.item.pk], now)
    insert_rows(list(receipts.values()))
    _write(rulings, verdicts, before)
    with translated():
        _cancel_won_back(rulings, before)
        _reserve(campaign, accepted, evidence, receipts)
    return verdicts


def _price(
    campaign: Campaign, items: Sequence[Item], rulings: Sequence[Ruling], evidence: EvidenceOf
) -> dict[int, Reward]:
    if not items:
        return {}
    policy = fill_policy(campaign.policy)
    balances = balances_of(campaign, items)
    by_person = {ruling.item.pk: ruling.moderator is not None for ruling in rulings}
    return {
        item.pk: rewards.price(
            campaign.reward_base,
            [
                rewards.quality_factor(
                    score_of(evidence.get(item.pk, ()), "technical"),
                    score_of(evidence.get(item.pk, ()), "labels"),
                    by_person=by_person[item.pk],
                ),
                rewards.novelty_factor(novelty_of(evidence.get(item.pk, ()))),
                rewards.scarcity_factor(item.attributes, balances, policy),
            ],
            cap_factor=policy["reward_max_factor"],
        )
        for item in items
    }


def balances_of(campaign: Campaign, added: Sequence[Item]) -> list[Balance]:
    """Each attribute with targets: its accepted values, and those that these items add."""
    declared = [one for one in campaign.attributes if one.get("targets")]
    if not declared:
        return []
    accepted, adding = attribute_rows(campaign), [item.attributes for item in added]
    return [
        Balance(
            one["name"],
            one["targets"],
            rewards.count_values(accepted, one["name"]),
            rewards.count_values(adding, one["name"]),
        )
        for one in declared
    ]


def _within_budget(
    campaign: Campaign, rulings: Sequence[Ruling], priced: Mapping[int, Reward]
) -> list[Ruling]:
    """In order, as long as the budget lasts."""
    wanted = sum(reward.amount for reward in priced.values())
    if not wanted:
        return list(rulings)
    left = ledger.campaign_budget(campaign.ledger_ref).remaining
    if wanted <= left:
        return list(rulings)
    kept = []
    for ruling in rulings:
        amount = priced[ruling.item.pk].amount if ruling.outcome == Outcome.ACCEPTED else 0
        if amount <= left:
            left -= amount
            kept.append(ruling)
        elif ruling.item.needs_review and ruling.item.reason == BUDGET_EXHAUSTED:
            continue  # it goes on waiting, without another verdict that says so
        elif ruling.moderator is None:
            kept.append(replace(ruling, outcome=Outcome.NEEDS_REVIEW, reason=BUDGET_EXHAUSTED))
        else:
            message = (
                f"The campaign's budget has {format_hyd(left)} HYD left, and this reward is {format_hyd(amount)} HYD. "
                "The sponsor has to add to it first."
            )
            raise BudgetShort(message, remaining=left, asked=amount)
    return kept


def _next_sequences(rulings: Sequence[Ruling]) -> dict[int, int]:
    keys = [ruling.item.pk for ruling in rulings]
    last: dict[int, int] = {}
    for start in range(0, len(keys), 500):
        rows = Verdict.objects.filter(item__in=keys[start : start + 500]).order_by().values_list("item")
        last.update(rows.annotate(last=Max("sequence")))
    return {key: last.get(key, 0) + 1 for key in keys}


def _verdict(campaign: Campaign, ruling: Ruling, sequence: int) -> Verdict:
    values = {
        "item_id": ruling.item.pk,
        "sequence": sequence,
        "outcome": ruling.outcome,
        "moderator_id": ruling.moderator.pk if ruling.moderator else None,
        "reason": ruling.reason[:500],
        "policy_version": campaign.policy_version,
    }
    return new_row(Verdict, values)


def _receipt(item: Item, reward: Reward, campaign: Campaign) -> Evidence:
    data = {**reward.as_json(), "policy_version": campaign.policy_version}
    reasons = tuple(f"{factor.name}: {factor.why}" for factor in reward.factors)
    finding = Finding(RECEIPT, rewards.VERSION, 0, "ok", None, "quality", reasons, data)
    return evidence_row(item, finding, input_sha256=item.content_sha256)


def _set_fields(ruling: Ruling, reward: Reward | None, sequence: int, now: datetime) -> None:
    item = ruling.item
    item.state = STATE_OF[Outcome(ruling.outcome)]
    item.reason = ruling.reason[:500]
    item.needs_review = ruling.outcome == Outcome.NEEDS_REVIEW
    item.decided_at = None if item.needs_review else now
    if ruling.duplicate_of_id is not None:
        item.duplicate_of_id = ruling.duplicate_of_id
    if reward is not None:
        item.quality, item.novelty, item.scarcity = (factor.value for factor in reward.factors)
    if ruling.outcome == Outcome.ACCEPTED and reward is not None:
        item.reward = reward.amount
        item.reward_key = f"reward:{item.public_id}:{sequence}" if reward.amount else ""
        item.reward_status = "reserved" if reward.amount else ""


def _write(rulings: Sequence[Ruling], verdicts: Sequence[Verdict], before: Mapping[int, str]) -> None:
    """Compare and set on the state that each ruling was made on.

    Raises: Conflict where another decision came first, or the same bytes are live in another item.
    """
    groups: dict[str, list[Item]] = defaultdict(list)
    for ruling in rulings:
        groups[before[ruling.item.pk]].append(ruling.item)
    try:
        with transaction.atomic():
            written = sum(
                update_rows(items, ITEM_FIELDS, where={"state": state}) for state, items in groups.items()
            )
            # Only where it is set: SQLite looks at the whole key on each such change, for half of the update's time.
            update_rows([one.item for one in rulings if one.duplicate_of_id is not None], ("duplicate_of",))
            insert_rows(verdicts)
    except IntegrityError as error:
        raise Conflict(
            "Another decision came first, or the same content is already accepted in another item."
        ) from error
    if written != len(rulings):
        raise Conflict("Another decision came first; look at the item again.")


def _cancel_won_back(rulings: Sequence[Ruling], before: Mapping[int, str]) -> None:
    won_back = [r for r in rulings if before[r.item.pk] == Item.State.ACCEPTED and r.item.reward_key]
    for ruling in won_back:
        entry = ledger.cancel_reward(ruling.item.reward_key, reason=ruling.reason[:200])
        ruling.item.reward_status = "cancelled" if entry.status == "cancelled" else "offset"
    update_rows([ruling.item for ruling in won_back], ("reward_status",))


def _reserve(
    campaign: Campaign, accepted: Sequence[Ruling], evidence: EvidenceOf, receipts: Mapping[int, Evidence]
) -> None:
    requests = [
        RewardRequest(
            key=item.reward_key,
            campaign_ref=campaign.ledger_ref,
            beneficiary_ref=item.contributor.ledger_ref,
            contribution_ref=item.ledger_ref,
            amount=item.reward,
            evidence_hash=proofs.root_of(
                [*(one.digest for one in evidence.get(item.pk, ())), receipts[item.pk].digest]
            ),
            policy_version=str(campaign.policy_version),
        )
        for item in (ruling.item for ruling in accepted)
        if item.reward
    ]
    ledger.reserve_rewards(requests)
