"""Submissions and items as a viewer may see them: the contributor, the campaign's owner and moderators; nobody else."""

from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet, Sum

from marketplace.errors import NotFound
from marketplace.models import Evidence, Item, Submission, Verdict
from marketplace.rules import states
from marketplace.selectors.campaigns import Viewer, key_of
from marketplace.selectors.lookup import get_one


@dataclass(frozen=True)
class Counts:
    """The batch equation: received = accepted + duplicate + rejected + ignored + pending."""

    received: int = 0
    accepted: int = 0
    duplicate: int = 0
    rejected: int = 0
    ignored: int = 0
    pending: int = 0

    @property
    def holds(self) -> bool:
        parts = self.accepted + self.duplicate + self.rejected + self.ignored + self.pending
        return self.received == parts


COUNTED = {state.value: Count("pk", filter=Q(state=state)) for state in Item.State}


def count(submission: Submission) -> Counts:
    return Counts(**submission.items.order_by().aggregate(received=Count("pk"), **COUNTED))


def _theirs(viewer: Viewer, prefix: str = "") -> Q:
    pk = key_of(viewer)
    if pk is None:
        return Q(pk__in=[])
    if viewer.is_moderator or viewer.is_superuser:  # type: ignore[union-attr]
        return Q()
    return Q(contributor_id=pk) | Q(campaign__owner_id=pk)


def visible_to(viewer: Viewer) -> QuerySet[Submission]:
    return Submission.objects.filter(_theirs(viewer)).select_related("campaign", "contributor")


def get(public_id: object, viewer: Viewer) -> Submission:
    """Raises: NotFound."""
    return get_one(visible_to(viewer), public_id)


def of_user(viewer: Viewer) -> QuerySet[Submission]:
    """The viewer's own, newest first, annotated with the parts of the batch equation and `rewarded` (nano)."""
    counted = {state.value: Count("items", filter=Q(items__state=state)) for state in Item.State}
    rewarded = Sum("items__reward", filter=Q(items__state=Item.State.ACCEPTED), default=0)
    rows = Submission.objects.filter(contributor_id=key_of(viewer)).select_related("campaign")
    return rows.annotate(received=Count("items"), rewarded=rewarded, **counted)


def visible_items(viewer: Viewer) -> QuerySet[Item]:
    return Item.objects.filter(_theirs(viewer)).select_related("campaign", "submission", "contributor")


def get_item(public_id: object, viewer: Viewer) -> Item:
    """Raises: NotFound."""
    return get_one(visible_items(viewer).select_related("duplicate_of"), public_id)


def items(submission: Submission, *, state: str = "") -> QuerySet[Item]:
    rows = submission.items.defer("features", "measures").order_by("position")
    return rows.filter(state=state) if state else rows


@dataclass(frozen=True)
class ItemDetail:
    """All there is to say about an item; `twin` only where the viewer may open it; `receipt` explains the reward."""

    item: Item
    evidence: list[Evidence]
    verdicts: list[Verdict]
    receipt: Evidence | None
    twin: Item | None
    why_not_judge: str

    @property
    def may_judge(self) -> bool:
        return not self.why_not_judge


def item_detail(item: Item, viewer: Viewer) -> ItemDetail:
    """Evidence newest first per validator, verdicts in order. Cost: three queries."""
    evidence = list(item.evidence.order_by("validator", "-pk"))
    receipts = [one for one in evidence if one.validator == "reward"]
    return ItemDetail(
        item=item,
        evidence=[one for one in evidence if one.validator != "reward"],
        verdicts=list(item.verdicts.select_related("moderator").order_by("sequence")),
        receipt=receipts[0] if receipts else None,
        twin=find_twin(item, viewer),
        why_not_judge=why_not_judge(item, viewer),
    )


def find_twin(item: Item, viewer: Viewer) -> Item | None:
    """What it repeats, where the viewer may see that: a link that answers 404 helps nobody."""
    if item.duplicate_of_id is None:
        return None
    return visible_items(viewer).filter(pk=item.duplicate_of_id).first()


def why_not_judge(item: Item, viewer: Viewer) -> str:
    pk = key_of(viewer)
    return states.why_not_judge(
        is_moderator=pk is not None and viewer.is_moderator,  # type: ignore[union-attr]
        is_contributor=item.contributor_id == pk,
    )


def served_key(item: Item) -> str:
    """Where the copy without metadata lies. Raises: NotFound where there is none (text, rows, refused items)."""
    if not item.served_key:
        raise NotFound
    return item.served_key
