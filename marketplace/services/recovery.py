"""Finds work that a broker, a worker or a crash lost, and queues it again. Run by the beat; harmless to run too often."""

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from marketplace.models import Campaign, IdempotentRequest, Item, Release, Submission
from marketplace.rules.admission import BUDGET_EXHAUSTED
from marketplace.services.queue import enqueue

QUEUED_S = 30  # a message that was not lost is normally consumed sooner; a second one does no harm
BUILDING_S = 300
ANSWERS_KEPT = timedelta(days=30)  # nobody repeats a request after that
AGAIN_S = 30  # what was sent only to be sure need not pile up behind a busy worker


def requeue_stale(*, now: datetime | None = None) -> int:
    """Returns: how many messages were sent."""
    at = now or timezone.now()
    return _dead_validations(at) + _lost_submissions(at) + _lost_releases(at) + _unpaid_acceptances()


def _dead_validations(now: datetime) -> int:
    """Back to queued, by compare-and-set on the sign of life: a worker that is alive after all notices and stops."""
    stale = now - timedelta(seconds=settings.HYDRA_VALIDATION_STALE_S)
    dead = Submission.objects.filter(state=Submission.State.VALIDATING, validating_since__lt=stale)
    sent = 0
    for submission in dead.only("pk", "validating_since"):
        mine = Submission.objects.filter(
            pk=submission.pk, state=Submission.State.VALIDATING, validating_since=submission.validating_since
        )
        if mine.update(state=Submission.State.QUEUED, stage="Waiting to be resumed"):
            enqueue("validate_submission", submission.pk)
            sent += 1
    return sent


def _lost_submissions(now: datetime) -> int:
    """Queued for long: the message may be lost, or only waiting behind others; consuming it twice is harmless."""
    old = Submission.objects.filter(
        state=Submission.State.QUEUED, completed_at__lt=now - timedelta(seconds=QUEUED_S)
    )
    keys = list(old.order_by("completed_at").values_list("pk", flat=True)[:50])
    for key in keys:
        enqueue("validate_submission", key, expires_s=AGAIN_S)
    return len(keys)


def _lost_releases(now: datetime) -> int:
    old = Release.objects.filter(
        state=Release.State.BUILDING, created_at__lt=now - timedelta(seconds=BUILDING_S)
    )
    keys = list(old.values_list("pk", flat=True)[:50])
    for key in keys:
        enqueue("build_release", key, expires_s=AGAIN_S)
    return len(keys)


def _unpaid_acceptances() -> int:
    """Campaigns whose items waited for money when it came and the message about it was lost."""
    waiting = Item.objects.filter(state=Item.State.PENDING, needs_review=True, reason=BUDGET_EXHAUSTED)
    keys = list(Campaign.objects.filter(pk__in=waiting.values("campaign")).values_list("pk", flat=True))
    for key in keys:
        enqueue("accept_waiting", key, expires_s=AGAIN_S)
    return len(keys)


def forget_answers(*, now: datetime | None = None) -> int:
    """Deletes old answers kept for repeated requests. Returns: how many."""
    old = IdempotentRequest.objects.filter(created_at__lt=(now or timezone.now()) - ANSWERS_KEPT)
    return old.delete()[0]
