"""The first half of validation, item by item: decode, measure, sketch. Stored per batch, so that a killed worker's
work is not done again. What the numbers mean for a verdict is services.validation's.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from marketplace.intake import DecodedImage, DecodeLimits, Refusal, decode_images
from marketplace.models import Campaign, Item, Modality
from marketplace.models.writing import update_rows
from marketplace.rules.admission import DECODING
from marketplace.services import storage, vectors
from marketplace.services.lease import BEAT_S, Lease, Stopwatch
from marketplace.validators import (
    duplicates,
    features,
    safety_text,
    technical_image,
    technical_row,
    technical_text,
)
from marketplace.validators.finding import BAD, Finding
from marketplace.validators.pixels import Pixels, read_png

BATCH = {Modality.IMAGE: 64, Modality.TEXT: 500, Modality.TABULAR: 1000}
FIELDS = ("content_sha256", "served_key", "width", "height", "measures", "features")


def prepare(lease: Lease, watch: Stopwatch) -> list[Item]:
    """Measures every pending item of the submission that has no measures yet.

    Returns: all pending items with their measures, in order. Raises: LeaseLost, SandboxUnavailable.
    """
    pending = lease.submission.items.filter(state=Item.State.PENDING).order_by("pk")
    with watch.part("database"):
        total, ready = pending.count(), list(pending.exclude(measures={}))
    with closing(_with_pictures(lease, _batches(lease, watch), watch)) as batches:
        for batch, pictures in batches:
            lease.beat()
            _measure(lease, batch, pictures, watch)
            ready += batch
            with watch.part("database"), transaction.atomic():
                lease.renew(f"Measured {len(ready):,} of {total:,}")
                update_rows(batch, FIELDS, where={"state": Item.State.PENDING})
    return sorted(ready, key=lambda item: item.pk)


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


@dataclass(frozen=True)
class Picture:
    """A decoded picture whose copy to be shown is stored already."""

    image: DecodedImage
    pixels: Pixels
    served_key: str


Answers = list[Picture | Refusal]


def _with_pictures(
    lease: Lease, batches: Iterable[list[Item]], watch: Stopwatch
) -> Generator[tuple[list[Item], Answers], None, None]:
    """Each batch with its decoded pictures, none where the campaign has none.

    The sandbox is another process: it decodes the next batch while the caller measures the present one.
    """
    campaign = lease.submission.campaign
    if campaign.modality != Modality.IMAGE:
        yield from ((batch, []) for batch in batches)
        return
    limits = decode_limits(campaign)
    with ThreadPoolExecutor(1, "decoding") as decoder:
        coming = ((batch, decoder.submit(_decode, batch, limits)) for batch in batches)
        present = next(coming, None)
        while present is not None:
            following = next(coming, None)
            with watch.part("decode"):
                answers = _await(present[1], lease)
            yield present[0], answers
            present = following


def _await(coming: Future[Answers], lease: Lease) -> Answers:
    """Waits with signs of life: large pictures and a loaded machine take longer than a dead worker is waited for."""
    while not wait([coming], BEAT_S).done:
        lease.beat()
    return coming.result()


def _decode(batch: Sequence[Item], limits: DecodeLimits) -> Answers:
    """Touches files and the sandbox only: the database's connection belongs to the caller's thread."""
    answers = decode_images([storage.read(item.original_key) for item in batch], limits)
    return [
        answer
        if isinstance(answer, Refusal)
        else Picture(answer, read_png(answer.png), storage.store_served(item.public_id, answer.png))
        for item, answer in zip(batch, answers, strict=True)
    ]


def decode_limits(campaign: Campaign) -> DecodeLimits:
    return DecodeLimits(channels=campaign.image_channels)


def _measure(lease: Lease, batch: Sequence[Item], pictures: Answers, watch: Stopwatch) -> None:
    campaign = lease.submission.campaign
    if campaign.modality == Modality.IMAGE:
        _measure_pictures(lease, batch, pictures, watch)
    elif campaign.modality == Modality.TEXT:
        _measure_texts(batch, watch)
    else:
        _measure_rows(campaign, batch, watch)


def _measure_pictures(lease: Lease, batch: Sequence[Item], answers: Answers, watch: Stopwatch) -> None:
    campaign = lease.submission.campaign
    kept: list[tuple[Item, Pixels]] = []
    for item, answer in zip(batch, answers, strict=True):
        if isinstance(answer, Refusal):
            item.measures = {DECODING: _plain(_undecodable(answer))}
        else:
            _keep_picture(item, answer)
            kept.append((item, answer.pixels))
    pictures = [pixels for _, pixels in kept]
    side, space = campaign.image_min_side, features.features_name(campaign.modality, campaign.image_min_side)
    with watch.part("hash"):
        sketches = []
        for pixels in pictures:
            lease.beat()
            sketches.append(duplicates.image_sketch(pixels, min_side=side))
    with watch.part("embed"):
        embedded = list(features.image_features(pictures, min_side=side)) if pictures else []
    lease.beat()
    with watch.part("model"):
        findings = technical_image.inspect(pictures, min_side=side)
    for (item, _), sketch, vector, finding in zip(kept, sketches, embedded, findings, strict=True):
        item.features = {"sketch": sketch, "vector": vectors.pack(vector), "space": space}
        item.measures = {"technical": _plain(finding)}


def _keep_picture(item: Item, picture: Picture) -> None:
    image = picture.image
    item.content_sha256, item.width, item.height = image.pixel_sha256, image.width, image.height
    item.served_key = picture.served_key


def _undecodable(refusal: Refusal) -> Finding:
    return Finding(DECODING, "1", 0, BAD, 0.0, "quality", (refusal.reason,), {"code": refusal.code})


def _measure_texts(batch: Sequence[Item], watch: Stopwatch) -> None:
    texts = [item.text for item in batch]
    with watch.part("hash"):
        sketches = [duplicates.text_sketch(text) for text in texts]
    with watch.part("model"):
        technical, safety = technical_text.inspect(texts), safety_text.inspect(texts)
    for item, sketch, quality, danger in zip(batch, sketches, technical, safety, strict=True):
        item.features = {"sketch": sketch}
        item.measures = {"technical": _plain(quality), "safety": _plain(danger)}


def _measure_rows(campaign: Campaign, batch: Sequence[Item], watch: Stopwatch) -> None:
    with watch.part("model"):
        findings = technical_row.inspect([item.row or {} for item in batch], campaign.columns)
    for item, finding in zip(batch, findings, strict=True):
        item.measures = {"technical": _plain(finding)}


def _plain(finding: Finding) -> dict[str, Any]:
    return {**vars(finding), "reasons": list(finding.reasons), "data": dict(finding.data)}


def findings_of(item: Item) -> list[Finding]:
    """What `prepare` found about the item."""
    return [Finding(**{**one, "reasons": tuple(one["reasons"])}) for one in item.measures.values()]
