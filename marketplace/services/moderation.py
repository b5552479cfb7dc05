"""A person's verdicts: compare-and-set on what the moderator saw, one effect per Idempotency-Key, never on own items."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from marketplace.errors import Conflict, InvalidInput, KeyReused, NotAllowed, WrongState
from marketplace.models import Campaign, IdempotentRequest, Item, User, Verdict
from marketplace.rules import states
from marketplace.rules.evidence import canonical_json
from marketplace.services.judging import Ruling, apply_rulings
from marketplace.services.rewards import load_evidence
from marketplace.validators.technical_row import unusable

DOOR = "moderation.decide"
OUTCOMES = (Verdict.Outcome.ACCEPTED.value, Verdict.Outcome.REJECTED.value)
MAX_AT_ONCE = 500


def decide(
    item: Item,
    *,
    moderator: User,
    outcome: str,
    reason: str,
    idempotency_key: str = "",
    seen: str | None = None,
) -> Verdict:
    """One verdict on one item. `seen` is the state on the moderator's page (default: the item as loaded).

    The same key with the same request returns the same verdict. Raises: NotAllowed (own item, no moderator),
    Conflict (another decision came first; a row outside the schema), WrongState, KeyReused, BudgetShort, InvalidInput.
    """
    if seen is not None:
        item.state = seen
    return decide_many(
        [item], moderator=moderator, outcome=outcome, reason=reason, idempotency_key=idempotency_key
    )[0]


def decide_many(
    items: Sequence[Item], *, moderator: User, outcome: str, reason: str, idempotency_key: str = ""
) -> list[Verdict]:
    """One verdict for all of the items, in their order, or for none. Raises: as `decide`."""
    reason = " ".join(reason.split())
    _check_request(items, outcome, reason)
    for item in items:
        _check_person(item, moderator)
    body: dict[str, object] = {
        "items": [str(item.public_id) for item in items],
        "outcome": outcome,
        "reason": reason,
    }
    with transaction.atomic():
        claim = _claim(moderator, idempotency_key, body)
        if claim is not None and claim.answer is not None:
            return _answered(claim.answer)
        verdicts = _decide(items, moderator, outcome, reason, timezone.now())
        if claim is not None:
            claim.answer = [str(verdict.public_id) for verdict in verdicts]
            claim.status = 200
            claim.save(update_fields=["answer", "status"])
    return verdicts


def _check_request(items: Sequence[Item], outcome: str, reason: str) -> None:
    if outcome not in OUTCOMES:
        raise InvalidInput(
            f"An outcome is one of {', '.join(OUTCOMES)}.", fields={"outcome": "not one of them"}
        )
    if not 1 <= len(reason) <= 500:
        raise InvalidInput(
            "Give the reason; the contributor reads it.", fields={"reason": "1 to 500 characters"}
        )
    if not 1 <= len(items) <= MAX_AT_ONCE:
        raise InvalidInput(f"Choose 1 to {MAX_AT_ONCE} items.", fields={"items": f"1 to {MAX_AT_ONCE}"})
    if len({item.pk for item in items}) != len(items):
        raise InvalidInput("An item is there twice.", fields={"items": "each once"})


def _check_person(item: Item, moderator: User) -> None:
    why_not = states.why_not_judge(
        is_moderator=moderator.is_moderator, is_contributor=item.contributor_id == moderator.pk
    )
    if why_not:
        raise NotAllowed(why_not)


def _claim(moderator: User, key: str, body: dict[str, object]) -> IdempotentRequest | None:
    """The key's row: new, or with the answer that the same request got. A rival with the key is waited for."""
    if not key:
        return None
    digest = sha256(canonical_json(body)).hexdigest()
    try:
        with transaction.atomic():
            return IdempotentRequest.objects.create(
                user=moderator, door=DOOR, key=key[:100], body_sha256=digest
            )
    except IntegrityError:
        found = IdempotentRequest.objects.get(user=moderator, door=DOOR, key=key[:100])
    if found.body_sha256 != digest:
        raise KeyReused
    return found


def _answered(public_ids: Sequence[str]) -> list[Verdict]:
    found = {str(verdict.public_id): verdict for verdict in Verdict.objects.filter(public_id__in=public_ids)}
    return [found[public_id] for public_id in public_ids]


def _decide(
    items: Sequence[Item], moderator: User, outcome: str, reason: str, now: datetime
) -> list[Verdict]:
    campaigns = list(
        Campaign.objects.select_for_update()
        .filter(pk__in={item.campaign_id for item in items})
        .order_by("pk")
    )
    seen = {item.pk: item.state for item in items}
    locked = list(
        Item.objects.select_for_update(of=("self",))
        .filter(pk__in=seen)
        .select_related("contributor")
        .order_by("pk")
    )
    for item in locked:
        _check_state(item, seen[item.pk], outcome)
    if outcome == Verdict.Outcome.ACCEPTED:
        _check_rows(locked, {campaign.pk: campaign.columns for campaign in campaigns})
    evidence = load_evidence(locked)
    made: dict[int, Verdict] = {}
    for campaign in campaigns:
        own = [item for item in locked if item.campaign_id == campaign.pk]
        rulings = [Ruling(item, outcome, reason, moderator) for item in own]
        for verdict in apply_rulings(campaign, rulings, evidence, now=now):
            made[verdict.item_id] = verdict
    return _answered([str(made[item.pk].public_id) for item in items])


def _check_rows(items: Sequence[Item], columns: Mapping[int, Sequence[Mapping[str, Any]]]) -> None:
    """One accepted row that does not fit the schema would fail every job on the release that holds it."""
    for item in items:
        if item.row is not None and (faults := unusable(item.row, columns[item.campaign_id])):
            raise Conflict(
                f"“{item.name[:80]}” cannot be accepted: {' '.join(faults)[:300]} Reject it; its contributor can send "
                "it again corrected.",
                code="outside_schema",
            )


def _check_state(item: Item, seen: str, outcome: str) -> None:
    if item.state != seen:
        raise Conflict(
            f"“{item.name[:80]}” was {item.get_state_display().lower()} in the meantime.", code="decided"
        )
    if item.state == outcome:
        raise Conflict(f"“{item.name[:80]}” is {item.get_state_display().lower()} already.", code="decided")
    if item.state == Item.State.PENDING and not item.needs_review:
        raise WrongState(f"“{item.name[:80]}” is still being validated.")
    if not states.may_follow(states.ITEM, item.state, outcome):
        raise WrongState(f"An item that is {item.get_state_display().lower()} cannot be {outcome}.")
