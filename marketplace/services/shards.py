"""A release's files as bytes: the same items give the same files on every machine and every day.

Image shards are stored (uncompressed) zips with fixed times; text and tabular shards are JSON Lines. Where the files
lie, and which items go into them, is services.releases'.
"""

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from marketplace.models import Item, Modality
from marketplace.services import storage

PIECE_BYTES = 262_144
SHARD_ITEMS = 10_000
SHARD_BYTES = 64 * 2**20
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip can hold


@dataclass(frozen=True)
class Shard:
    """A finished file; `items` counts its lines."""

    name: str
    role: str
    content: bytes
    items: int

    def as_json(self) -> dict[str, Any]:
        pieces = [self.content[at : at + PIECE_BYTES] for at in range(0, len(self.content), PIECE_BYTES)]
        return {
            "name": self.name,
            "role": self.role,
            "bytes": len(self.content),
            "sha256": hashlib.sha256(self.content).hexdigest(),
            "items": self.items,
            "piece_bytes": PIECE_BYTES,
            "pieces": [hashlib.sha256(piece).hexdigest() for piece in pieces],
        }


def make_shards(items: Iterable[Item], role: str, modality: str) -> Iterator[Shard]:
    """The files of one split, one in memory at a time; the order of `items` is the order of lines."""
    packed = modality == Modality.IMAGE
    for number, part in enumerate(_cut(items, packed, role)):
        content = _zip(part) if packed else b"".join(line for line, _, _ in part)
        suffix = "zip" if packed else "jsonl"
        yield Shard(f"{role}-{number:05d}.{suffix}", role, content, len(part))


Line = tuple[bytes, str, bytes]  # the JSON line, the picture's name, the picture


def _cut(items: Iterable[Item], packed: bool, role: str) -> Iterator[list[Line]]:
    part: list[Line] = []
    size = 0
    for item in items:
        picture = storage.read(item.served_key) if packed else b""
        line = _line(item, role)
        if part and (len(part) >= SHARD_ITEMS or size + len(picture) + len(line) > SHARD_BYTES):
            yield part
            part, size = [], 0
        part.append((line, f"{item.public_id}.png", picture))
        size += len(picture) + len(line)
    if part:
        yield part


def _line(item: Item, role: str) -> bytes:
    fields: dict[str, Any] = {"id": str(item.public_id), "label": item.label, "split": role}
    if item.served_key:
        fields["file"] = f"{item.public_id}.png"
    elif item.row is not None:
        fields["row"] = item.row
    else:
        fields["text"] = item.text
    fields["attributes"] = item.attributes
    return json.dumps(fields, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _zip(part: Sequence[Line]) -> bytes:
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_STORED) as archive:
        _add(archive, "items.jsonl", b"".join(line for line, _, _ in part))
        for _, name, picture in part:
            _add(archive, name, picture)
    return buffer.getvalue()


def _add(archive: ZipFile, name: str, content: bytes) -> None:
    info = ZipInfo(name, EPOCH)
    info.create_system, info.external_attr = 3, 0o644 << 16  # whatever system builds the release
    archive.writestr(info, content)
