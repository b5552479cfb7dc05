"""Peers, who is online, where the backbone is, and enrolments as the backbone pulls them."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import QuerySet

from marketplace.models import Backbone, Peer, User
from marketplace.selectors.campaigns import Viewer, key_of


def peers_of(user: User) -> QuerySet[Peer]:
    return Peer.objects.filter(user=user).select_related("job")


def online_peers(now: datetime) -> QuerySet[Peer]:
    since = now - timedelta(seconds=settings.HYDRA_BACKBONE_STALE_S)
    return Peer.objects.filter(active=True, last_seen_at__gt=since).select_related("user", "job")


def backbones(now: datetime) -> QuerySet[Backbone]:
    """Those that announced themselves lately, the newest first."""
    since = now - timedelta(seconds=settings.HYDRA_BACKBONE_STALE_S)
    return Backbone.objects.filter(announced_at__gt=since).order_by("-announced_at")


def enrolments_since(cursor: int, *, limit: int = 1000) -> tuple[list[Peer], int]:
    """Peers whose enrolment or activity changed after `cursor`, and the cursor to continue from."""
    rows = list(Peer.objects.filter(change__gt=cursor).order_by("change")[:limit])
    return rows, rows[-1].change if rows else cursor


@dataclass(frozen=True)
class PeerView:
    """A peer as anybody may see it: names, never e-mail addresses."""

    peer: Peer
    owner_name: str
    is_online: bool
    is_mine: bool


def peer_views(viewer: Viewer, now: datetime) -> list[PeerView]:
    """Every active peer, those online first."""
    stale_s, mine = settings.HYDRA_BACKBONE_STALE_S, key_of(viewer)
    rows = Peer.objects.filter(active=True).select_related("user", "job")
    views = [
        PeerView(peer, peer.user.shown_name, peer.is_online(now, stale_s), peer.user_id == mine)
        for peer in rows
    ]
    return sorted(views, key=lambda view: (not view.is_online, view.peer.name))
