"""A small tabular release on disk, with real files and hashes: three classes that a line cannot quite separate."""

import io
import json
import random
from pathlib import Path
from typing import Any

from trainer.wire.files import PieceFile

RELEASE = "3f0f6c2e-0000-4000-8000-000000000001"
PIECE_BYTES = 4096
CENTRES = {"low": (-1.5, 0.0, 1.0), "middle": (0.5, 1.5, -1.0), "high": (1.5, -1.5, 0.0)}


def make_release(folder: Path, n_train: int = 600, n_test: int = 200, seed: int = 5) -> dict[str, Any]:
    """Writes two train shards and a test shard with manifest.json; returns the manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(seed)
    half = n_train // 2
    files = [
        _shard(folder, "train-00000.jsonl", "train", half, rng),
        _shard(folder, "train-00001.jsonl", "train", n_train - half, rng),
        _shard(folder, "test-00000.jsonl", "test", n_test, rng),
    ]
    columns = [{"name": f"x{i}", "type": "number"} for i in range(3)]
    manifest = {
        "format": "hydra-release/1", "release": RELEASE, "campaign": "rows", "version": 1, "modality": "tabular",
        "classes": list(CENTRES), "schema": {"columns": columns}, "files": files,
        "counts": {"train": n_train, "test": n_test},
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return manifest


def _shard(folder: Path, name: str, split: str, count: int, rng: random.Random) -> dict[str, Any]:
    lines = []
    for index in range(count):
        label = rng.choice(list(CENTRES))
        row = {f"x{i}": round(rng.gauss(mean, 0.9), 4) for i, mean in enumerate(CENTRES[label])}
        item = f"{name}-{index}"
        lines.append(json.dumps({"id": item, "label": label, "split": split, "row": row, "attributes": {}}))
    data = ("\n".join(lines) + "\n").encode()
    (folder / name).write_bytes(data)
    file = PieceFile.of_stream(name, io.BytesIO(data), PIECE_BYTES)
    return {**file.to_dict(), "role": split, "items": count}
