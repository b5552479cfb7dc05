"""Jobs with their curves, rounds and earnings. A job is its owner's; the backbone sees those that can run."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from marketplace.models import Job, JobEarning, JobRound, Peer, User
from marketplace.selectors.campaigns import Viewer, key_of
from marketplace.selectors.lookup import get_one

RUNNABLE = (Job.State.READY, Job.State.RUNNING)


def visible_to(viewer: Viewer) -> QuerySet[Job]:
    rows = Job.objects.select_related("release__campaign", "owner")
    if viewer is not None and viewer.is_authenticated and viewer.is_superuser:
        return rows
    return rows.filter(owner_id=key_of(viewer))


def of_user(user: User) -> QuerySet[Job]:
    return Job.objects.filter(owner=user).select_related("release__campaign")


def get(public_id: object, viewer: Viewer) -> Job:
    """Raises: NotFound."""
    return get_one(visible_to(viewer), public_id)


def get_any(public_id: object) -> Job:
    """For the backbone, whose scope was checked by the caller. Raises: NotFound."""
    return get_one(Job.objects.select_related("release__campaign", "owner"), public_id)


def runnable() -> QuerySet[Job]:
    """Funded and waiting, or running; the oldest first."""
    return Job.objects.filter(state__in=RUNNABLE).select_related("release").order_by("created_at")


def rounds(job: Job) -> QuerySet[JobRound]:
    return job.rounds.order_by("step")


@dataclass(frozen=True)
class CurvePoint:
    """Measured on the held-out split after `step` steps."""

    step: int
    loss: float | None
    accuracy: float | None
    at: datetime


def curve(job: Job) -> list[CurvePoint]:
    rows = job.points.order_by("step").values_list("step", "loss", "accuracy", "recorded_at")
    return [CurvePoint(*row) for row in rows]


def peers(job: Job) -> QuerySet[Peer]:
    """Everyone whose samples count in this job."""
    return Peer.objects.filter(earnings__job=job).select_related("user").order_by("name")


@dataclass(frozen=True)
class Earning:
    """`amount` in nano: 0 until the job is settled. `share` of the job's samples."""

    peer: Peer
    owner_name: str
    samples: int
    amount: int
    share: float


def earnings(job: Job) -> list[Earning]:
    rows = list(
        JobEarning.objects.filter(job=job).select_related("peer__user").order_by("-samples", "peer_id")
    )
    total = sum(row.samples for row in rows)
    return [
        Earning(
            row.peer, row.peer.user.shown_name, row.samples, row.amount, row.samples / total if total else 0.0
        )
        for row in rows
    ]
