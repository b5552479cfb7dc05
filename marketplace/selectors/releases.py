"""Releases as a viewer may see them: facts about ready ones are public, the rest is the campaign owner's."""

from django.db.models import Q, QuerySet

from marketplace.models import Campaign, Release
from marketplace.selectors.campaigns import Viewer, key_of
from marketplace.selectors.lookup import get_one


def visible_to(viewer: Viewer) -> QuerySet[Release]:
    rows = Release.objects.select_related("campaign", "created_by")
    public = Q(state=Release.State.READY) & ~Q(campaign__state=Campaign.State.DRAFT)
    pk = key_of(viewer)
    if pk is None:
        return rows.filter(public)
    if viewer.is_moderator or viewer.is_superuser:  # type: ignore[union-attr]
        return rows
    return rows.filter(public | Q(campaign__owner_id=pk))


def get(public_id: object, viewer: Viewer) -> Release:
    """Raises: NotFound."""
    return get_one(visible_to(viewer), public_id)


def of_campaign(campaign: Campaign) -> QuerySet[Release]:
    return campaign.releases.order_by("-version")
