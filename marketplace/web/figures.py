"""The counts that pages show, each from a fixed number of queries."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum

from marketplace.models import Campaign, Item, Job, Peer, Submission

STATES = ("accepted", "duplicate", "rejected", "ignored", "pending")


@dataclass(frozen=True)
class Equation:
    """received = accepted + duplicate + rejected + ignored + pending; `review` are those of pending with a person."""

    received: int = 0
    accepted: int = 0
    duplicate: int = 0
    rejected: int = 0
    ignored: int = 0
    pending: int = 0
    review: int = 0

    @property
    def judged_share(self) -> float:
        return 1 - self.pending / self.received if self.received else 0.0

    @property
    def validated_share(self) -> float:
        """The part that the checks are done with: what waits for a person counts as checked."""
        return 1 - (self.pending - self.review) / self.received if self.received else 0.0


def equation_of(items: QuerySet[Item]) -> Equation:
    counted = {state: Count("pk", filter=Q(state=state)) for state in STATES}
    waiting = Count("pk", filter=Q(state="pending", needs_review=True))
    return Equation(**items.order_by().aggregate(received=Count("pk"), review=waiting, **counted))


def equations_of(submissions: Sequence[Submission]) -> dict[int, Equation]:
    """By the submission's key; those without items have an empty one."""
    counted = {state: Count("pk", filter=Q(state=state)) for state in STATES}
    rows = (
        Item.objects.filter(submission__in=[one.pk for one in submissions])
        .order_by()
        .values("submission_id")
        .annotate(received=Count("pk"), review=Count("pk", filter=Q(state="pending", needs_review=True)), **counted)
    )
    found = {row.pop("submission_id"): Equation(**row) for row in rows}
    return {one.pk: found.get(one.pk, Equation()) for one in submissions}


@dataclass(frozen=True)
class ClassCount:
    """`share` is of the campaign's largest class, so that bars can be compared."""

    label: str
    accepted: int
    waiting: int
    share: float


def class_progress(campaign: Campaign) -> list[ClassCount]:
    """Accepted and waiting items of each declared class, in the campaign's order."""
    rows = campaign.items.order_by().filter(state__in=["accepted", "pending"]).values_list("label", "state")
    counts = {(label, state): n for label, state, n in rows.annotate(n=Count("pk"))}
    most = max((counts.get((label, "accepted"), 0) for label in campaign.classes), default=0) or 1
    return [
        ClassCount(label, counts.get((label, "accepted"), 0), counts.get((label, "pending"), 0),
                   counts.get((label, "accepted"), 0) / most)
        for label in campaign.classes
    ]  # fmt: skip


@dataclass(frozen=True)
class GroupShare:
    value: str
    count: int
    share: float
    target: float | None


@dataclass(frozen=True)
class Attribute:
    """One declared attribute: the share of each of its groups among accepted items that declare it."""

    name: str
    declared: int
    groups: tuple[GroupShare, ...]


def group_progress(campaign: Campaign) -> list[Attribute]:
    """Counted in the database per attribute, so that a campaign of 100,000 items costs one query each."""
    accepted = campaign.items.order_by().filter(state="accepted")
    return [_attribute(accepted, one) for one in campaign.attributes]


def _attribute(accepted: QuerySet[Item], declared: Mapping[str, Any]) -> Attribute:
    name, targets = declared["name"], declared.get("targets") or {}
    key = f"attributes__{name}"
    counts: Counter[str] = Counter()
    for value, n in accepted.values_list(key).annotate(n=Count("pk")):
        if value is not None:
            counts[str(value)] += n
    total = sum(counts.values())
    groups = [
        GroupShare(value, counts[value], counts[value] / total if total else 0.0, targets.get(value))
        for value in declared.get("values", [])
    ]
    return Attribute(name, total, tuple(groups))


def landing_figures(now: datetime, stale_s: float) -> dict[str, int]:
    """What the network has done so far, for the start page."""
    accepted = Item.objects.filter(state="accepted")
    since = now - timedelta(seconds=stale_s)
    return {
        "open_campaigns": Campaign.objects.filter(state=Campaign.State.OPEN).count(),
        "accepted": accepted.count(),
        "contributors": accepted.order_by().values("contributor").distinct().count(),
        "rewarded": accepted.aggregate(total=Sum("reward"))["total"] or 0,
        "peers": Peer.objects.filter(active=True, last_seen_at__gt=since).count(),
        "samples": Job.objects.aggregate(total=Sum("samples"))["total"] or 0,
    }


@dataclass(frozen=True)
class RoundRow:
    """A committed round beside the one before it: who is new, who is no longer there."""

    step: int
    term: int
    samples: int
    loss: float | None
    members: tuple[str, ...]
    joined: tuple[str, ...]
    left: tuple[str, ...]


def round_rows(rounds: Iterable[Any], names: Mapping[str, str]) -> list[RoundRow]:
    """Rounds in ascending order of step; peers without a known name are shown by the first digits of their id."""
    rows: list[RoundRow] = []
    before: set[str] | None = None
    for one in rounds:
        members = {str(member.get("peer_id", "")) for member in one.record.get("members", [])}
        joined = members - before if before is not None else set()
        left = before - members if before is not None else set()
        rows.append(RoundRow(one.step, one.term, one.samples, one.loss,
                             _named(members, names), _named(joined, names), _named(left, names)))  # fmt: skip
        before = members
    return rows


def _named(peers: set[str], names: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted(names.get(peer, peer[:8]) for peer in peers))
