"""A campaign's life: drafted, opened, funded, closed. What its fields may hold is rules.schema's."""

from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.text import slugify

from ledger import service as ledger
from marketplace.errors import InvalidInput, NotAllowed, WrongState
from marketplace.models import Campaign, User
from marketplace.rules import states
from marketplace.rules.money import MAX_NANO, format_hyd
from marketplace.rules.schema import CampaignDraft, check_draft
from marketplace.services.books import translated
from marketplace.services.queue import enqueue

MAX_FUNDING = MAX_NANO // 1000  # so that sums over many campaigns stay within 64 bits
# After opening, what contributors agreed to and how they are judged stays; these may still be corrected.
EDITABLE_WHEN_OPEN = frozenset({"title", "description", "deadline"})


def create_campaign(owner: User, draft: CampaignDraft, *, slug: str = "") -> Campaign:
    """A campaign in draft, at the address `slug` or one made from the title.

    Raises: NotAllowed unless the owner is a sponsor; InvalidInput with fields.
    """
    if not owner.is_sponsor:
        raise NotAllowed("Only sponsors create campaigns; ask an operator for the role.")
    checked = check_draft(draft)
    return _insert_at(owner, checked, slug) if slug else _insert(owner, checked)


def _insert_at(owner: User, draft: CampaignDraft, slug: str) -> Campaign:
    try:
        with transaction.atomic():
            return Campaign.objects.create(owner=owner, slug=slug, **_columns(draft))
    except IntegrityError as error:
        message = f"The address {slug!r} is taken; choose another one."
        raise InvalidInput(message, fields={"slug": message}) from error


def _insert(owner: User, draft: CampaignDraft) -> Campaign:
    """Two campaigns of one title get slugs `title`, `title-2`, …; a race for a slug takes the next one."""
    stem = slugify(draft.title)[:70] or "campaign"
    taken = set(Campaign.objects.filter(slug__startswith=stem).values_list("slug", flat=True))
    number = 1
    while True:
        slug = stem if number == 1 else f"{stem}-{number}"
        number += 1
        if slug in taken:
            continue
        try:
            with transaction.atomic():
                return Campaign.objects.create(owner=owner, slug=slug, **_columns(draft))
        except IntegrityError:
            taken.add(slug)


def _columns(draft: CampaignDraft) -> dict[str, Any]:
    return {one.name: getattr(draft, one.name) for one in fields(draft)}


def draft_of(campaign: Campaign) -> CampaignDraft:
    return CampaignDraft(**{one.name: getattr(campaign, one.name) for one in fields(CampaignDraft)})


def update_campaign(campaign: Campaign, changes: dict[str, Any], *, by: User) -> Campaign:
    """Changes fields of a draft, or of an open campaign those that alter no agreement.

    `changes` maps names of CampaignDraft to new values. A changed policy or reward raises `policy_version`,
    a changed consent text `consent_version`.
    Raises: NotAllowed, WrongState, InvalidInput.
    """
    _require_owner(campaign, by)
    known = {one.name for one in fields(CampaignDraft)}
    if unknown := sorted(set(changes) - known):
        raise InvalidInput(f"Unknown field {unknown[0]!r}.", fields=dict.fromkeys(unknown, "unknown"))
    if campaign.state != Campaign.State.DRAFT and (late := sorted(set(changes) - EDITABLE_WHEN_OPEN)):
        raise WrongState(f"{late[0]} can be changed only while the campaign is a draft.")
    before = draft_of(campaign)
    checked = check_draft(replace(before, **changes))
    for name in changes:
        setattr(campaign, name, getattr(checked, name))
    campaign.policy_version += int(
        checked.policy != before.policy or checked.reward_base != before.reward_base
    )
    campaign.consent_version += int(checked.consent_text != before.consent_text)
    campaign.save()
    return campaign


def open_campaign(campaign: Campaign, *, by: User, now: datetime | None = None) -> Campaign:
    """Starts taking submissions. Raises: NotAllowed; WrongState where it is open already; InvalidInput for terms
    that cannot work (of a draft that was stored before they were refused)."""
    at = now or timezone.now()
    _require_owner(campaign, by)
    if campaign.state == Campaign.State.DRAFT:
        check_draft(draft_of(campaign))
    if campaign.deadline is not None and campaign.deadline <= at:
        raise InvalidInput("The deadline has passed.", fields={"deadline": "a time in the future"})
    return _move(campaign, Campaign.State.OPEN, by, opened_at=campaign.opened_at or at, closed_at=None)


def close_campaign(campaign: Campaign, *, by: User, now: datetime | None = None) -> Campaign:
    """Ends taking submissions; what was received is still judged and paid. Raises: NotAllowed, WrongState."""
    return _move(campaign, Campaign.State.CLOSED, by, closed_at=now or timezone.now())


def _move(campaign: Campaign, state: str, by: User, **stamps: datetime | None) -> Campaign:
    _require_owner(campaign, by)
    possible = Campaign.objects.filter(pk=campaign.pk, state__in=states.sources_of(states.CAMPAIGN, state))
    if not possible.update(state=state, **stamps):
        campaign.refresh_from_db(fields=["state"])
        raise WrongState(f"The campaign is {campaign.get_state_display().lower()}.")
    campaign.refresh_from_db()
    return campaign


def fund_campaign(campaign: Campaign, amount: int, *, by: User, key: str) -> None:
    """Adds `amount` nano to the campaign's budget, once per `key`; then accepts what only waited for money.

    Raises: NotAllowed, InvalidInput(amount_nano), KeyReused, Unavailable.
    """
    _require_owner(campaign, by)
    if isinstance(amount, bool) or not isinstance(amount, int) or amount < 1:
        raise InvalidInput(
            "The amount must be positive.", fields={"amount_nano": "a whole number of nano HYD above 0"}
        )
    if amount > MAX_FUNDING:
        message = (
            f"At most {format_hyd(MAX_FUNDING)} HYD at once; fund in several steps, or check the amount."
        )
        raise InvalidInput(message, fields={"amount_nano": message})
    if not key:
        raise InvalidInput(
            "Funding needs a key, so that a retry does not pay twice.", fields={"key": "required"}
        )

    with transaction.atomic(), translated():
        ledger.fund_campaign(campaign.ledger_ref, amount, key=f"fund:{campaign.public_id}:{key}")
        enqueue("accept_waiting", campaign.pk)


def _require_owner(campaign: Campaign, by: User) -> None:
    if campaign.owner_id != by.pk and not by.is_superuser:
        raise NotAllowed("Only the campaign's owner may do this.")
