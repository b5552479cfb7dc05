"""What waits for a moderator's judgement, the most doubtful first."""

from uuid import UUID

from django.db.models import Case, Count, F, Min, Q, QuerySet, When

from marketplace.models import Item, User
from marketplace.rules.admission import BUDGET_EXHAUSTED
from marketplace.validators.history import REJECTED_BEFORE


def queue(
    moderator: User, *, campaign_slug: str = "", submission_id: str | UUID | None = None
) -> QuerySet[Item]:
    """Pending items that need a person: first what was rejected before, then by ascending label score; their own and those that only wait for money are
    left out, since judging changes nothing there. Empty for those who are no moderators.
    """
    if not moderator.is_moderator:
        return Item.objects.none()
    rows = (
        Item.objects.filter(state=Item.State.PENDING, needs_review=True)
        .exclude(contributor=moderator)
        .exclude(reason=BUDGET_EXHAUSTED)
    )
    if campaign_slug:
        rows = rows.filter(campaign__slug=campaign_slug)
    if submission_id:
        rows = rows.filter(submission__public_id=submission_id)
    worst = Min("evidence__score", filter=Q(evidence__validator="labels"))
    rows = rows.select_related("campaign", "submission", "contributor").defer("features", "measures")
    again = Case(When(reason__startswith=REJECTED_BEFORE, then=0), default=1)
    rows = rows.annotate(label_score=worst, rejected_before=again)
    return rows.order_by("rejected_before", F("label_score").asc(nulls_last=True), "pk")


def queue_counts(moderator: User) -> list[tuple[str, str, int]]:
    """(slug, title, waiting) of each campaign with something to judge, the fullest first."""
    rows = queue(moderator).order_by().values_list("campaign__slug", "campaign__title")
    return sorted(rows.annotate(waiting=Count("pk", distinct=True)), key=lambda row: (-row[2], row[0]))
