"""The first half of validation, item by item: decode, measure, sketch. Stored per batch, so that a killed worker's
work is not done again. What the numbers mean for a verdict is services.validation's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from django.db import transaction

from marketplace.intake import DecodedImage, DecodeLimits, Refusal, decode_images
from marketplace.models import Campaign, Item, Modality
from marketplace.models.writing import update_rows
from marketplace.rules.admission import DECODING
from marketplace.services import storage, vectors
from marketplace.services.lease import Lease, Stopwatch
from marketplace.validators import (
    duplicates,
    features,
    safety_text,
    technical_image,
    technical_row,
    technical_text,
)
from marketplace.validators.finding import BAD, Finding
from marketplace.validators.pixels import read_png

BATCH = {Modality.IMAGE: 64, Modality.TEXT: 500, Modality.TABULAR: 1000}
FIELDS = ("content_sha256", "served_key", "width", "height", "measures", "features")


def prepare(lease: Lease, watch: Stopwatch) -> None:
    """Measures every pending item of the submission that has no measures yet. Raises: LeaseLost, SandboxUnavailable."""
    campaign = lease.submission.campaign
    total = lease.submission.items.filter(state=Item.State.PENDING).count()
    done = 0
    for batch in _batches(lease, watch):
        if campaign.modality == Modality.IMAGE:
            _prepare_images(campaign, batch, watch)
        elif campaign.modality == Modality.TEXT:
            _prepare_texts(batch, watch)
        else:
            _prepare_rows(campaign, batch, watch)
        done += len(batch)
        with watch.part("database"), transaction.atomic():
            lease.renew(f"Measured {done:,} of {total:,}")
            update_rows(batch, FIELDS, where={"state": Item.State.PENDING})


def _batches(lease: Lease, watch: Stopwatch) -> Iterator[list[Item]]:
    """Pending items without measures, in order, by key: rows that were written in between are not read again."""
    size = BATCH[Modality(lease.submission.campaign.modality)]
    waiting = lease.submission.items.filter(state=Item.State.PENDING, measures={}).order_by("pk")
    last = 0
    while True:
        with watch.part("database"):
            batch = list(waiting.filter(pk__gt=last)[:size])
        if not batch:
            return
        yield batch
        last = batch[-1].pk


def decode_limits(campaign: Campaign) -> DecodeLimits:
    return DecodeLimits(channels=campaign.image_channels)


def _prepare_images(campaign: Campaign, batch: Sequence[Item], watch: Stopwatch) -> None:
    with watch.part("decode"):
        answers = decode_images([storage.read(item.original_key) for item in batch], decode_limits(campaign))
    kept: list[tuple[Item, Any]] = []
    for item, answer in zip(batch, answers, strict=True):
        if isinstance(answer, Refusal):
            item.measures = {DECODING: _plain(_undecodable(answer))}
        else:
            kept.append((item, _keep_image(item, answer, watch)))
    pictures = [pixels for _, pixels in kept]
    side, space = campaign.image_min_side, features.features_name(campaign.modality, campaign.image_min_side)
    with watch.part("hash"):
        sketches = [duplicates.image_sketch(pixels, min_side=side) for pixels in pictures]
    with watch.part("embed"):
        embedded = list(features.image_features(pictures, min_side=side)) if pictures else []
    with watch.part("model"):
        findings = technical_image.inspect(pictures, min_side=side)
    for (item, _), sketch, vector, finding in zip(kept, sketches, embedded, findings, strict=True):
        item.features = {"sketch": sketch, "vector": vectors.pack(vector), "space": space}
        item.measures = {"technical": _plain(finding)}


def _keep_image(item: Item, image: DecodedImage, watch: Stopwatch) -> Any:
    with watch.part("decode"):
        pixels = read_png(image.png)
        item.content_sha256, item.width, item.height = image.pixel_sha256, image.width, image.height
        item.served_key = storage.store_served(item.public_id, image.png)
    return pixels


def _undecodable(refusal: Refusal) -> Finding:
    return Finding(DECODING, "1", 0, BAD, 0.0, "quality", (refusal.reason,), {"code": refusal.code})


def _prepare_texts(batch: Sequence[Item], watch: Stopwatch) -> None:
    texts = [item.text for item in batch]
    with watch.part("hash"):
        sketches = [duplicates.text_sketch(text) for text in texts]
    with watch.part("model"):
        technical, safety = technical_text.inspect(texts), safety_text.inspect(texts)
    for item, sketch, quality, danger in zip(batch, sketches, technical, safety, strict=True):
        item.features = {"sketch": sketch}
        item.measures = {"technical": _plain(quality), "safety": _plain(danger)}


def _prepare_rows(campaign: Campaign, batch: Sequence[Item], watch: Stopwatch) -> None:
    with watch.part("model"):
        findings = technical_row.inspect([item.row or {} for item in batch], campaign.columns)
    for item, finding in zip(batch, findings, strict=True):
        item.measures = {"technical": _plain(finding)}


def _plain(finding: Finding) -> dict[str, Any]:
    return {**asdict(finding), "reasons": list(finding.reasons), "data": dict(finding.data)}


def findings_of(item: Item) -> list[Finding]:
    """What `prepare` found about the item."""
    return [Finding(**{**one, "reasons": tuple(one["reasons"])}) for one in item.measures.values()]
