"""Small releases on disk, as the market writes them: the data the recipe tests read."""

import io
import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image


def png(pixels: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def lines(content: str, items: Iterable[tuple[str, str, Any]], split: str = "train") -> list[dict[str, Any]]:
    """items: (id, label, value of the `content` field)."""
    return [{"id": id_, "label": label, "split": split, content: value} for id_, label, value in items]


def jsonl(entries: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(entry) + "\n" for entry in entries).encode()


def write_zip(path: Path, entries: Sequence[Mapping[str, Any]], pictures: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("items.jsonl", jsonl(entries))
        for name, data in pictures.items():
            archive.writestr(name, data)
    return path


def manifest(
    modality: str, classes: Sequence[str], schema: Mapping[str, Any], files: Sequence[tuple[str, str, int]]
) -> dict[str, Any]:
    """files: (name, role, items)."""
    return {
        "format": "hydra-release/1",
        "release": "7d6b0a52-6b5c-4f2c-9d31-4a4d5e3a9f10",
        "campaign": "digits",
        "version": 1,
        "modality": modality,
        "classes": list(classes),
        "schema": dict(schema),
        "files": [{"name": name, "role": role, "items": items} for name, role, items in files],
    }


def image_release(folder: Path, name: str, pixels: np.ndarray, labels: Sequence[str], split: str) -> Path:
    """pixels: [n, side, side] uint8."""
    ids = [f"{split}-{index:05d}" for index in range(len(pixels))]
    entries = lines(
        "file", ((id_, label, f"{id_}.png") for id_, label in zip(ids, labels, strict=True)), split
    )
    pictures = {f"{id_}.png": png(one) for id_, one in zip(ids, pixels, strict=True)}
    return write_zip(folder / name, entries, pictures)
