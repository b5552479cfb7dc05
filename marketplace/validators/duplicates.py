"""Duplicates: the same bytes, the same content, or nearly the same content; images, texts and rows.

An index is built from plain records that the marketplace stores per item, and asked in batches. How pictures
and texts are compared is near_images.py's and near_texts.py's; what follows from a finding is the policy's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from marketplace.validators.finding import BAD, SUSPECT, Finding, ValidatorInfo
from marketplace.validators.near import Near, NearSearch
from marketplace.validators.near_images import NearImages, image_sketch
from marketplace.validators.near_texts import NearTexts, text_sketch

__all__ = ["VALIDATOR", "ImageIndex", "Record", "RowIndex", "TextIndex", "image_sketch", "text_sketch"]

VALIDATOR = ValidatorInfo("duplicates", "1")


@dataclass(frozen=True)
class Record:
    """One item as the index knows it. `sketch` from image_sketch or text_sketch; None = compare hashes only."""

    key: str
    original_sha256: str = ""
    content_sha256: str = ""
    sketch: Mapping[str, Any] | None = None
    label: str = ""


NOVELTY_SPAN = 0.02  # novelty falls from 1 to 0 over this last stretch of similarity below the threshold


class _Index:
    """Exact hashes here, near ones in the search that the kind of content brings."""

    def __init__(self, near: NearSearch | None) -> None:
        self._near = near
        self._originals: dict[str, Record] = {}
        self._contents: dict[str, Record] = {}
        self._records: dict[str, Record] = {}

    def add(self, record: Record) -> None:
        """Makes a record known; the first holder of a hash stays the one that is named."""
        self._remember(record)
        if self._near is not None and record.sketch is not None:
            self._near.add(record.key, record.sketch)

    def _remember(self, record: Record) -> None:
        self._records[record.key] = record
        if record.original_sha256:
            self._originals.setdefault(record.original_sha256, record)
        if record.content_sha256:
            self._contents.setdefault(record.content_sha256, record)

    def query(self, batch: Sequence[Record]) -> list[Finding]:
        """One finding per record, against what is known and what came earlier in the same batch.

        Nothing is added. `data`: kind (exact, content, near or None), of (key or None), similarity, novelty.
        """
        inner = type(self)._build(())
        findings, fresh = [], []
        for record in batch:
            finding = self._exact(record) or inner._exact(record)
            if finding is None:
                fresh.append(record)
                inner._remember(record)
            findings.append(finding)
        nearest = iter(self._nearest(fresh))
        return [
            finding or self._judge(record, next(nearest), inner)
            for record, finding in zip(batch, findings, strict=True)
        ]

    def _nearest(self, fresh: Sequence[Record]) -> list[Near | None]:
        """What is an exact copy already is neither asked for nor compared with."""
        sketched = [(record.key, record.sketch) for record in fresh if record.sketch is not None]
        if self._near is None or not sketched:
            return [None] * len(fresh)
        keys, sketches = zip(*sketched, strict=True)
        found = iter(self._near.nearest_in_turn(keys, sketches))
        return [next(found) if record.sketch is not None else None for record in fresh]

    def _exact(self, record: Record) -> Finding | None:
        for kind, known, digest in (
            ("exact", self._originals, record.original_sha256),
            ("content", self._contents, record.content_sha256),
        ):
            twin = known.get(digest) if digest else None
            if twin is not None and twin.key != record.key:
                words = (
                    "The same file was sent before."
                    if kind == "exact"
                    else "The same content was sent before."
                )
                return _duplicate(BAD, words, record, twin, kind, 1.0)
        return None

    def _judge(self, record: Record, best: Near | None, inner: _Index) -> Finding:
        if best is None or best.key == record.key:
            return VALIDATOR.ok(data={"kind": None, "of": None, "novelty": 1.0})
        twin = self._records.get(best.key) or inner._records[best.key]
        if best.similarity >= best.threshold:
            words = f"Nearly the same as an earlier item ({best.similarity:.1%} alike{best.detail})."
            return _duplicate(SUSPECT, words, record, twin, "near", best.similarity)
        novelty = min(1.0, (best.threshold - best.similarity) / NOVELTY_SPAN)
        data = {"kind": None, "of": None, "nearest": best.key, "similarity": round(best.similarity, 4)}
        return VALIDATOR.ok(0.5 + novelty / 2, data={**data, "novelty": round(novelty, 4)})

    @classmethod
    def _build(cls, records: Iterable[Record]) -> Self:
        raise NotImplementedError

    @classmethod
    def from_records(cls, records: Iterable[Record]) -> Self:
        """The index over stored records; their order decides which of several equals is named."""
        return cls._build(records)


def _duplicate(
    outcome: Any, words: str, record: Record, twin: Record, kind: str, similarity: float
) -> Finding:
    data = {"kind": kind, "of": twin.key, "similarity": round(similarity, 4), "novelty": 0.0}
    reasons = [words]
    if record.label and twin.label and record.label != twin.label:
        data["label_conflict"] = [twin.label, record.label]
        reasons.append(f"The earlier one bears the label “{twin.label}”, this one “{record.label}”.")
    return VALIDATOR.finding(outcome, 0.0, *reasons, data=data)


class ImageIndex(_Index):
    """Cost: a query compares with all known thumbnails, about 1 ms per item and 10,000 known ones."""

    @classmethod
    def _build(cls, records: Iterable[Record]) -> Self:
        index = cls(NearImages())
        for record in records:
            index.add(record)
        return index


class TextIndex(_Index):
    @classmethod
    def _build(cls, records: Iterable[Record]) -> Self:
        index = cls(NearTexts())
        for record in records:
            index.add(record)
        return index


class RowIndex(_Index):
    """Equal rows are normal in tables (two people of one age and job): they are counted, never held against one."""

    def __init__(self, near: NearSearch | None = None) -> None:
        super().__init__(None)
        self._counts: dict[str, int] = {}

    def add(self, record: Record) -> None:
        super().add(record)
        self._counts[record.content_sha256] = self._counts.get(record.content_sha256, 0) + 1

    def query(self, batch: Sequence[Record]) -> list[Finding]:
        """The very same file or request sent again is a duplicate; equal rows in different files are counted."""
        findings = []
        counts = dict(self._counts)
        for record in batch:
            equal = counts.get(record.content_sha256, 0)
            counts[record.content_sha256] = equal + 1
            words = (f"{equal} equal rows before it: normal in tables, only counted.",) if equal else ()
            findings.append(
                VALIDATOR.ok(1.0, *words, data={"kind": None, "of": None, "equal": equal, "novelty": 1.0})
            )
        return findings

    @classmethod
    def _build(cls, records: Iterable[Record]) -> Self:
        index = cls()
        for record in records:
            index.add(record)
        return index
