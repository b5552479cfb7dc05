"""The plain records that intake hands out: what was asked for, what was found in an upload, and limits.

No decision here; archives, tables and images fill them in, the marketplace stores them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["data", "ignored", "refused"]

MIB = 1024 * 1024


@dataclass(frozen=True)
class UploadSchema:
    """What the campaign takes. `columns` as in Campaign.columns, `attributes` the declared group names."""

    modality: Literal["image", "text", "tabular"]
    classes: tuple[str, ...] = ()
    text_column: str = "text"
    label_column: str = "label"
    columns: tuple[Mapping[str, Any], ...] = ()
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True)
class UploadLimits:
    """Ceilings for one upload. Entries count system files too: they cost directory work all the same."""

    entries: int = 20_000
    total_bytes: int = 2048 * MIB
    file_bytes: int = 64 * MIB
    table_bytes: int = 256 * MIB
    rows: int = 200_000
    text_chars: int = 200_000
    ratio: float = 1100.0  # deflate cannot exceed 1032:1; a directory that claims more lies


UPLOAD_LIMITS = UploadLimits()


@dataclass(frozen=True)
class Entry:
    """One thing found in an upload: data to take, a system file to ignore, or something refused and why.

    `name` is safe to show (≤ 300 characters, no control or direction characters). `locator` says where it is
    inside the upload ("row 3", "set/cat.jpg"). `member` is the index in the archive's directory, for reading.
    Images: bytes come from `read_entries`. Text and rows: `text` or `row` is filled in already.
    `label` is the campaign's own spelling where one matched by normal form, else as received.
    """

    name: str
    kind: Kind = "data"
    locator: str = ""
    reason: str = ""
    label: str = ""
    text: str = ""
    row: Mapping[str, Any] | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    size: int = 0
    member: int | None = None


@dataclass(frozen=True)
class LabelQuestion:
    """A label that is nearly, but not by normal form, one of the campaign's: ask, never merge silently."""

    label: str
    suggestion: str
    why: str
    count: int = 1


@dataclass(frozen=True)
class UploadPlan:
    """Everything in an upload, accounted for: len(entries) = data + ignored + refused."""

    format: Literal["zip", "image", "text", "csv", "jsonl"]
    entries: tuple[Entry, ...]
    encoding: str = ""
    delimiter: str = ""
    columns: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    questions: tuple[LabelQuestion, ...] = ()

    def of(self, kind: Kind) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.kind == kind)


@dataclass(frozen=True)
class Refusal:
    """Why one item was not taken, in words for the person who sent it."""

    code: str
    reason: str


@dataclass(frozen=True)
class DecodeLimits:
    """What one image may cost. Units: pixels, bytes, seconds. `channels` 1, 3, or 0 to keep grey as grey."""

    pixels: int = 40_000_000
    channels: int = 0
    file_bytes: int = 64 * MIB
    memory_bytes: int = 1024 * MIB
    cpu_s: int = 20
    wall_s: float = 30.0


DECODE_LIMITS = DecodeLimits()


@dataclass(frozen=True)
class DecodedImage:
    """An image made harmless: upright, 8 bits, no metadata, PNG again.

    `pixel_sha256` is over mode, size and normalised pixels: equal for the same picture in another container.
    """

    png: bytes
    width: int
    height: int
    channels: int
    pixel_sha256: str
    source_format: str
