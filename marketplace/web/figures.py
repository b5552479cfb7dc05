"""The counts that pages show, each from a fixed number of queries."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import TruncDate

from marketplace.models import Campaign, Item, Job, Peer, User
from marketplace.rules.admission import BUDGET_EXHAUSTED
from marketplace.rules.money import NANO
from marketplace.selectors.submissions import COUNTED, Counts


@dataclass(frozen=True)
class Equation(Counts):
    """The batch equation; of pending, `review` wait for a person and `budget` only for the sponsor's budget."""

    review: int = 0
    budget: int = 0

    @property
    def judged_share(self) -> float:
        return 1 - self.pending / self.received if self.received else 0.0

    @property
    def validated_share(self) -> float:
        """The part that the checks are done with: what waits for a person or for budget counts as checked."""
        return 1 - (self.pending - self.review - self.budget) / self.received if self.received else 0.0


def equation_of(items: QuerySet[Item]) -> Equation:
    waiting, unfunded = Q(state="pending", needs_review=True), Q(reason=BUDGET_EXHAUSTED)
    return Equation(**items.order_by().aggregate(
        received=Count("pk"), review=Count("pk", filter=waiting & ~unfunded),
        budget=Count("pk", filter=waiting & unfunded), **COUNTED,
    ))  # fmt: skip


@dataclass(frozen=True)
class Day:
    """What one day's accepted items earned; `on_chain` of it is settled. Nano."""

    day: date
    items: int
    earned: int
    on_chain: int

    @property
    def hyd(self) -> float:
        """For the chart's scale only; the table shows the exact amount."""
        return self.earned / NANO


def earnings_by_day(user: User, days: int = 60) -> list[Day]:
    """The latest `days` days on which something was accepted, oldest first."""
    rows = (
        Item.objects.filter(contributor=user, state="accepted", reward__gt=0, decided_at__isnull=False)
        .order_by()
        .annotate(day=TruncDate("decided_at"))
        .values("day")
        .annotate(
            items=Count("pk"), earned=Sum("reward"),
            on_chain=Sum("reward", filter=Q(reward_status="settled"), default=0),
        )
        .order_by("-day")[:days]
    )  # fmt: skip
    return [Day(**row) for row in rows][::-1]


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
