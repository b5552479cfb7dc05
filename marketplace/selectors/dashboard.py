"""A person's figures, each with the rows that it counts or sums: a number that cannot be opened is not shown."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from django.db.models import QuerySet, Sum

from marketplace.errors import NotFound
from marketplace.models import Item, Job, JobEarning, Peer, Submission, User

Unit = Literal["count", "nano"]
MAX_ROWS = 500


@dataclass(frozen=True)
class Figure:
    """`value` counts the rows behind `key`, or sums their amounts in nano."""

    key: str
    label: str
    value: int
    unit: Unit


@dataclass(frozen=True)
class Rows:
    """The newest rows behind a figure; `total` says how many there are in all."""

    figure: Figure
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    total: int


@dataclass(frozen=True)
class _Source:
    label: str
    unit: Unit
    select: Callable[[User], QuerySet[Any]]
    columns: tuple[str, ...]
    fields: tuple[str, ...]
    amount: str = ""


def _items(state: str) -> Callable[[User], QuerySet[Item]]:
    return lambda user: Item.objects.filter(contributor=user, state=state).order_by("-pk")


def _waiting(user: User) -> QuerySet[Item]:
    """Pending items of finished submissions: nothing looks at the others before their upload is completed."""
    return _items("pending")(user).exclude(submission__state=Submission.State.RECEIVING)


_ITEM = ("name", "campaign__title", "label", "state", "reason", "public_id")
_ITEM_COLUMNS = ("Item", "Campaign", "Label", "State", "Reason", "Id")
_SOURCES: dict[str, _Source] = {
    "accepted": _Source("Accepted items", "count", _items("accepted"), _ITEM_COLUMNS, _ITEM),
    "pending": _Source("Items waiting", "count", _waiting, _ITEM_COLUMNS, _ITEM),
    "duplicate": _Source("Duplicates", "count", _items("duplicate"), _ITEM_COLUMNS, _ITEM),
    "rejected": _Source("Rejected items", "count", _items("rejected"), _ITEM_COLUMNS, _ITEM),
    "rewards": _Source(
        "Rewards of accepted items",
        "nano",
        lambda user: Item.objects.filter(contributor=user, state="accepted", reward__gt=0).order_by("-pk"),
        ("Item", "Campaign", "Reward", "Status", "Id"),
        ("name", "campaign__title", "reward", "reward_status", "public_id"),
        amount="reward",
    ),
    "jobs": _Source(
        "Training jobs",
        "count",
        lambda user: Job.objects.filter(owner=user).order_by("-pk"),
        ("Recipe", "Campaign", "State", "Samples", "Charged", "Id"),
        ("recipe", "release__campaign__title", "state", "samples", "charged", "public_id"),
    ),
    "peers": _Source(
        "Enrolled peers",
        "count",
        lambda user: Peer.objects.filter(user=user, active=True).order_by("-pk"),
        ("Peer", "State", "Samples", "Last seen"),
        ("name", "state", "samples_total", "last_seen_at"),
    ),
    "earned": _Source(
        "Earned by training",
        "nano",
        lambda user: JobEarning.objects.filter(peer__user=user, amount__gt=0).order_by("-pk"),
        ("Peer", "Recipe", "Samples", "Amount"),
        ("peer__name", "job__recipe", "samples", "amount"),
        amount="amount",
    ),
}


def figures(user: User) -> list[Figure]:
    """All of a person's figures, in the order of the page."""
    return [_figure(key, source, user) for key, source in _SOURCES.items()]


def _figure(key: str, source: _Source, user: User) -> Figure:
    rows = source.select(user).order_by()
    value = rows.aggregate(total=Sum(source.amount))["total"] or 0 if source.amount else rows.count()
    return Figure(key, source.label, value, source.unit)


def rows(user: User, key: str) -> Rows:
    """What a figure counts. Raises: NotFound for a figure that does not exist."""
    source = _SOURCES.get(key)
    if source is None:
        raise NotFound
    found = source.select(user)
    shown = list(found.values_list(*source.fields)[:MAX_ROWS])
    return Rows(_figure(key, source, user), source.columns, shown, found.count())
