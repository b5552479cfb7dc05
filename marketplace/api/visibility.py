"""Which rows a call may see: what its person may see (the selectors' rule), narrowed to the scopes it carries.

Doors fetch through these, so what is not the caller's answers as if it were absent.
"""

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from rest_framework.request import Request

from marketplace.api.auth import caller_of, scopes_of
from marketplace.models import Campaign, Item, Job, Peer, Release, Submission, User
from marketplace.selectors import campaigns as campaign_rows
from marketplace.selectors import jobs as job_rows
from marketplace.selectors import releases as release_rows
from marketplace.selectors import submissions as submission_rows


def campaigns(request: Request) -> QuerySet[Campaign]:
    """All that were opened, and the caller's own drafts."""
    return campaign_rows.visible_to(_reader(request))


def submissions(request: Request) -> QuerySet[Submission]:
    """The caller's own and those to the caller's campaigns; all, with the scope `moderate`."""
    return _own_unless_moderating(request, submission_rows.visible_to(request.user))


def items(request: Request) -> QuerySet[Item]:
    """The caller's own and those of the caller's campaigns; all, with the scope `moderate`."""
    rows = submission_rows.visible_items(request.user).select_related("duplicate_of").defer("features")
    return _own_unless_moderating(request, rows)


def releases(request: Request) -> QuerySet[Release]:
    """Facts about releases, never their data: ready ones of opened campaigns, and the caller's own."""
    granted, public = scopes_of(request), release_rows.visible_to(None)
    if "backbone" in granted:
        return Release.objects.select_related("campaign", "created_by")
    if "read" not in granted:
        return public
    if "moderate" in granted:
        return release_rows.visible_to(caller_of(request))
    return public | Release.objects.filter(campaign__owner=caller_of(request))


def release_data(request: Request) -> QuerySet[Release]:
    """Releases whose files the call may download: the campaign's owner, the backbone, and peers of live jobs."""
    rows = Release.objects.filter(state=Release.State.READY).select_related("campaign")
    granted = scopes_of(request)
    if "backbone" in granted:
        return rows
    if "read" in granted:
        return rows.filter(campaign__owner=caller_of(request))
    peers = Peer.objects.filter(token_id=getattr(request.auth, "pk", None), active=True)
    live = Job.objects.filter(release=OuterRef("pk"), state__in=job_rows.RUNNABLE)
    return rows.filter(Exists(peers), Exists(live))


def jobs(request: Request) -> QuerySet[Job]:
    """The caller's own; all, for the backbone."""
    if "backbone" in scopes_of(request):
        return Job.objects.select_related("release__campaign", "owner")
    return job_rows.visible_to(request.user)


def is_owner(user: User | AnonymousUser, campaign: Campaign) -> bool:
    return bool(user.is_authenticated and campaign.owner_id == user.pk)


def counts_of(rows: Sequence[Submission]) -> dict[int, dict[str, int]]:
    """The batch equation of each submission, by primary key, in one query."""
    states = [state.value for state in Item.State]
    counts = {row.pk: dict.fromkeys(["received", *states], 0) for row in rows}
    found = Item.objects.filter(submission__in=[row.pk for row in rows]).order_by()
    for pk, state, number in found.values_list("submission", "state").annotate(Count("pk")):
        counts[pk][state] += number
        counts[pk]["received"] += number
    return counts


def _own_unless_moderating(request: Request, rows: QuerySet[Any]) -> QuerySet[Any]:
    """A moderator's token without the scope `moderate` sees what any contributor's sees."""
    if "moderate" in scopes_of(request):
        return rows
    return rows.filter(Q(contributor=request.user) | Q(campaign__owner=request.user))


def _reader(request: Request) -> User | AnonymousUser | None:
    """Whose drafts and the like may be shown: nobody's to a token without the scope `read`."""
    return request.user if "read" in scopes_of(request) else None
