"""The second half of validation, all items of a submission together: duplicates, earlier rejections, labels.

Reads what earlier submissions left; writes nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any
from uuid import UUID

import numpy as np
from django.db.models import Q, QuerySet

from marketplace.models import Campaign, Item, Modality, Submission, Verdict
from marketplace.services import vectors
from marketplace.validators import duplicates, features, history, labels
from marketplace.validators.duplicates import Record
from marketplace.validators.finding import BAD, Finding
from marketplace.validators.history import Rejection
from marketplace.validators.labels import LabelledSet, LabelReport

TRUSTED = 3000  # accepted items to learn from; more changes a cross-validated model little and costs minutes
REFERENCE_ROWS = 200  # accepted rows that give a column's scale; with fewer, those under test have to help
INDEXES = {
    Modality.IMAGE: duplicates.ImageIndex,
    Modality.TEXT: duplicates.TextIndex,
    Modality.TABULAR: duplicates.RowIndex,
}


@dataclass(frozen=True)
class Known:
    """What is read of each item that others are compared with: a fifth of the cost of whole rows."""

    pk: int
    public_id: UUID
    original_sha256: str
    content_sha256: str
    label: str
    state: str
    features: dict[str, Any]


COLUMNS = tuple(field.name for field in fields(Known))


def record_of(item: Item | Known) -> Record:
    return Record(
        key=str(item.public_id),
        original_sha256=item.original_sha256,
        content_sha256=item.content_sha256,
        sketch=item.features.get("sketch"),
        label=item.label,
    )


def known_items(submission: Submission) -> QuerySet[Item]:
    """What an item may be a duplicate of: everything accepted, and what waits from submissions before this one.

    Of two submissions that are validated at once only the later one looks at the other's waiting items, so that no
    pair of items is thrown out both ways.
    """
    earlier = Q(state=Item.State.PENDING, submission_id__lt=submission.pk)
    rows = Item.objects.filter(campaign_id=submission.campaign_id).exclude(submission=submission)
    rows = rows.filter(Q(state=Item.State.ACCEPTED) | earlier).exclude(content_sha256="")
    return rows.order_by("pk")


def index_of(campaign: Campaign, items: Iterable[Known]) -> Any:
    kind: Any = INDEXES[Modality(campaign.modality)]
    return kind.from_records(record_of(item) for item in items)


def load_known(rows: QuerySet[Item]) -> list[Known]:
    return [Known(*row) for row in rows.values_list(*COLUMNS)]


def find_duplicates(
    campaign: Campaign, known: Any, items: Sequence[Item], *, copied_share: float
) -> list[Finding]:
    """One finding per item, against what is known and what came earlier in the submission."""
    found: list[Finding] = known.query([record_of(item) for item in items])
    if campaign.modality != Modality.TABULAR:
        return found
    return _copied_rows(campaign, items, found, copied_share)


def _copied_rows(
    campaign: Campaign, items: Sequence[Item], found: list[Finding], copied_share: float
) -> list[Finding]:
    """Equal rows are normal in tables, but a table most of whose rows are there already is a copy of one."""
    twins = _equal_rows(campaign, items)
    if not items or len(twins) <= copied_share * len(items):
        return found
    said = f"{len(twins):,} of the {len(items):,} rows sent are in the campaign already: this is a copy."
    return [
        replace(one, outcome=BAD, score=0.0, reasons=(said,), data={**one.data, "kind": "content", "of": of})
        if (of := twins.get(item.pk)) is not None
        else one
        for item, one in zip(items, found, strict=True)
    ]


def _equal_rows(campaign: Campaign, items: Sequence[Item]) -> dict[int, str]:
    """By the item's key: the id of an accepted row with the same content and label from another submission."""
    digests = sorted({item.content_sha256 for item in items})
    held: dict[tuple[str, str], str] = {}
    for start in range(0, len(digests), 500):
        rows = Item.objects.filter(
            campaign=campaign, content_sha256__in=digests[start : start + 500], state=Item.State.ACCEPTED
        ).exclude(submission_id=items[0].submission_id)
        for content, label, public_id in rows.values_list("content_sha256", "label", "public_id"):
            held.setdefault((content, label), str(public_id))
    pairs = ((item.pk, held.get((item.content_sha256, item.label))) for item in items)
    return {key: twin for key, twin in pairs if twin is not None}


def find_rejections(campaign: Campaign, items: Sequence[Item]) -> dict[int, Finding]:
    """By the item's key: that a moderator rejected the same content, in an item that is still rejected.

    Equal rows are normal in tables, so that of rows only those with the same label are told.
    """
    digests = sorted({item.content_sha256 for item in items if item.content_sha256})
    said: dict[str, list[Rejection]] = defaultdict(list)
    for start in range(0, len(digests), 500):
        rows = Verdict.objects.filter(
            item__campaign=campaign,
            item__content_sha256__in=digests[start : start + 500],
            item__state=Item.State.REJECTED,
            outcome=Verdict.Outcome.REJECTED,
            moderator__isnull=False,
        ).order_by("pk")
        told = rows.values_list("item__content_sha256", "item__public_id", "item__label", "reason")
        for content, public_id, label, reason in told:
            said[content].append(Rejection(str(public_id), label, reason))
    by_label = campaign.modality == Modality.TABULAR
    found = {
        item.pk: history.check(
            item.label,
            [one for one in said.get(item.content_sha256, ()) if one.label == item.label or not by_label],
        )
        for item in items
    }
    return {key: finding for key, finding in found.items() if finding is not None}


def check_labels(campaign: Campaign, items: Sequence[Item], known: Sequence[Known]) -> LabelReport:
    """How plausible each label is, learnt from accepted items and, by cross-validation, from the submission itself.

    `known` as `load_known` gives it: pictures are not read a second time.
    """
    own, trusted = _labelled(campaign, items, _trusted(campaign, items, known))
    return labels.check(own, trusted, features_name=space_of(campaign))


def _trusted(campaign: Campaign, items: Sequence[Item], known: Sequence[Known]) -> Sequence[Item | Known]:
    """Accepted items of other submissions, picked by content hash: as good as by chance, and the same every time."""
    if campaign.modality == Modality.IMAGE:
        space = space_of(campaign)
        usable = [o for o in known if o.state == Item.State.ACCEPTED and o.features.get("space") == space]
        return sorted(usable, key=lambda one: (one.content_sha256, one.pk))[:TRUSTED]
    rows = campaign.items.filter(state=Item.State.ACCEPTED)
    if items:
        rows = rows.exclude(submission_id=items[0].submission_id)
    return list(rows.order_by("content_sha256", "pk").only("label", "text", "row")[:TRUSTED])


def space_of(campaign: Campaign) -> str:
    """Which features a picture of this campaign gets on this machine: only vectors of one space can be compared."""
    return features.features_name(campaign.modality, campaign.image_min_side)


def _labelled(
    campaign: Campaign, items: Sequence[Item], accepted: Sequence[Any]
) -> tuple[LabelledSet, LabelledSet]:
    names, known = [item.label for item in items], [item.label for item in accepted]
    if campaign.modality == Modality.IMAGE:
        own, trusted = _vectors(items), _vectors(accepted)
    elif campaign.modality == Modality.TEXT:
        own, trusted = (features.text_features([item.text for item in part]) for part in (items, accepted))
    else:
        rows, accepted_rows = ([item.row or {} for item in part] for part in (items, accepted))
        reference = accepted_rows if len(accepted_rows) >= REFERENCE_ROWS else [*accepted_rows, *rows]
        own = features.row_features(rows, campaign.columns, reference)
        trusted = features.row_features(accepted_rows, campaign.columns, reference)
    return LabelledSet(own, names), LabelledSet(trusted, known)


def _vectors(items: Sequence[Item | Known]) -> Any:
    if not items:
        return np.zeros((0, 1), dtype=np.float32)
    return vectors.unpack([item.features["vector"] for item in items])
