"""Campaigns as a viewer may see them, with the counts and the budget that their pages show."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Q, QuerySet

from ledger import service as ledger
from ledger.service import Budget
from marketplace.errors import NotFound
from marketplace.models import Campaign, Item, User
from marketplace.rules.admission import BUDGET_EXHAUSTED

Viewer = User | AnonymousUser | None


def visible_to(viewer: Viewer) -> QuerySet[Campaign]:
    """Everything that was opened, and the viewer's own drafts."""
    rows = Campaign.objects.select_related("owner")
    opened = ~Q(state=Campaign.State.DRAFT)
    return rows.filter(opened | Q(owner_id=pk)) if (pk := key_of(viewer)) else rows.filter(opened)


def get(slug: str, viewer: Viewer) -> Campaign:
    """Raises: NotFound."""
    found = visible_to(viewer).filter(slug=slug).first()
    if found is None:
        raise NotFound
    return found


def owned_by(user: User) -> QuerySet[Campaign]:
    return Campaign.objects.filter(owner=user)


def with_counts(campaigns: QuerySet[Campaign]) -> QuerySet[Campaign]:
    """Annotates items_received, items_accepted, items_pending and contributors."""
    return campaigns.annotate(
        items_received=Count("items"),
        items_accepted=Count("items", filter=Q(items__state=Item.State.ACCEPTED)),
        items_pending=Count("items", filter=Q(items__state=Item.State.PENDING)),
        contributors=Count("items__contributor", distinct=True),
    )


def budget(campaign: Campaign) -> Budget:
    """Nano: funded = reserved + settled + remaining."""
    return ledger.campaign_budget(campaign.ledger_ref)


def waiting_for_budget(campaign: Campaign) -> int:
    """Items that passed but found the budget exhausted: the sponsor's to solve."""
    return Item.objects.filter(
        campaign=campaign, state=Item.State.PENDING, needs_review=True, reason=BUDGET_EXHAUSTED
    ).count()


@dataclass(frozen=True)
class ClassCount:
    name: str
    accepted: int
    share: float


def class_counts(campaign: Campaign) -> list[ClassCount]:
    """Accepted items of each declared class, in the campaign's order."""
    rows = campaign.items.filter(state=Item.State.ACCEPTED).order_by().values_list("label")
    counts: dict[str, int] = dict(rows.annotate(number=Count("pk")))
    total = sum(counts.values())
    return [
        ClassCount(n, counts.get(n, 0), counts.get(n, 0) / total if total else 0.0) for n in campaign.classes
    ]


def attribute_rows(campaign: Campaign) -> list[Mapping[str, str]]:
    """The declared attributes of every accepted item, as the bias validators take them."""
    if not campaign.attributes:
        return []
    accepted = campaign.items.filter(state=Item.State.ACCEPTED).order_by("pk")
    return list(accepted.values_list("attributes", flat=True))


@dataclass(frozen=True)
class AttributeShares:
    """`rows` = (value, accepted, share, target or None)."""

    name: str
    rows: tuple[tuple[str, int, float, float | None], ...]


def attribute_shares(campaign: Campaign) -> list[AttributeShares]:
    """How the accepted items spread over each declared attribute, beside the targets."""
    accepted = attribute_rows(campaign)
    shown = []
    for declared in campaign.attributes:
        counts = Counter(row.get(declared["name"]) for row in accepted)
        total = sum(counts[value] for value in declared["values"])
        targets = declared.get("targets") or {}
        rows = tuple(
            (value, counts[value], counts[value] / total if total else 0.0, targets.get(value))
            for value in declared["values"]
        )
        shown.append(AttributeShares(declared["name"], rows))
    return shown


def key_of(viewer: Viewer) -> int | None:
    return viewer.pk if viewer is not None and viewer.is_authenticated else None
