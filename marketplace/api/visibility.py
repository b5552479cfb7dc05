"""Which rows a caller may see. Doors fetch through these, so what is not theirs answers as if it were absent."""

from collections.abc import Sequence

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from rest_framework.request import Request

from marketplace.api.auth import scopes_of
from marketplace.models import Campaign, Item, Job, Peer, Release, Submission, User

LIVE_JOBS = (Job.State.READY, Job.State.RUNNING)


def campaigns(request: Request) -> QuerySet[Campaign]:
    """All that were opened, and the caller's own drafts."""
    opened = Q(state__in=(Campaign.State.OPEN, Campaign.State.CLOSED))
    rows = Campaign.objects.select_related("owner")
    return rows.filter(opened | Q(owner=request.user)) if _is_reader(request) else rows.filter(opened)


def submissions(request: Request) -> QuerySet[Submission]:
    """The caller's own and those to the caller's campaigns; all, for moderators."""
    rows = Submission.objects.select_related("campaign", "contributor")
    if "moderate" in scopes_of(request):
        return rows
    return rows.filter(Q(contributor=request.user) | Q(campaign__owner=request.user))


def items(request: Request) -> QuerySet[Item]:
    """The caller's own and those of the caller's campaigns; all, for moderators."""
    rows = Item.objects.select_related("campaign", "submission", "contributor", "duplicate_of")
    if "moderate" in scopes_of(request):
        return rows
    return rows.filter(Q(contributor=request.user) | Q(campaign__owner=request.user))


def releases(request: Request) -> QuerySet[Release]:
    """Facts about a release (never its data): ready ones of opened campaigns, and all of the caller's campaigns."""
    rows = Release.objects.select_related("campaign", "created_by")
    public = Q(state=Release.State.READY) & ~Q(campaign__state=Campaign.State.DRAFT)
    if not _is_reader(request):
        return rows if "backbone" in scopes_of(request) else rows.filter(public)
    if scopes_of(request) & {"moderate", "backbone"}:
        return rows
    return rows.filter(public | Q(campaign__owner=request.user))


def release_data(request: Request) -> QuerySet[Release]:
    """Releases whose files the caller may download: the campaign's owner, the backbone, and peers of live jobs."""
    rows = Release.objects.filter(state=Release.State.READY).select_related("campaign")
    granted = scopes_of(request)
    if "backbone" in granted:
        return rows
    if "peer" in granted:
        peers = Peer.objects.filter(token=request.auth, active=True)
        live = Job.objects.filter(release=OuterRef("pk"), state__in=LIVE_JOBS)
        return rows.filter(Exists(peers), Exists(live))
    return rows.filter(campaign__owner=request.user)


def jobs(request: Request) -> QuerySet[Job]:
    """The caller's own; all, for the backbone."""
    rows = Job.objects.select_related("release__campaign", "owner")
    return rows if "backbone" in scopes_of(request) else rows.filter(owner=request.user)


def is_owner(user: User | AnonymousUser, campaign: Campaign) -> bool:
    return bool(user.is_authenticated and campaign.owner_id == user.pk)


def _is_reader(request: Request) -> bool:
    return "read" in scopes_of(request)


def counts_of(rows: Sequence[Submission]) -> dict[int, dict[str, int]]:
    """The batch equation of each submission, by primary key, in one query."""
    states = [state.value for state in Item.State]
    counts = {row.pk: dict.fromkeys(["received", *states], 0) for row in rows}
    found = Item.objects.filter(submission__in=[row.pk for row in rows]).order_by()
    for pk, state, number in found.values_list("submission", "state").annotate(Count("pk")):
        counts[pk][state] += number
        counts[pk]["received"] += number
    return counts
