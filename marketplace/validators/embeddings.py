"""Picture embeddings by efficientnet-lite0 on onnxruntime, where set-up has exported the model.

Export once: `python -m marketplace.validators.export_embedding var/models/efficientnet-lite0.onnx`. Without
the file the validators use pixel features, which is weaker on photos and says so in the evidence.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from marketplace.validators.pixels import Pixels

NAME = "efficientnet-lite0/1"
SIDE = 224
BATCH = 8
DEFAULT = Path(__file__).resolve().parents[2] / "var" / "models" / "efficientnet-lite0.onnx"


def model_path() -> Path:
    """HYDRA_EMBEDDING_MODEL, else var/models/ beside the packages."""
    return Path(os.environ.get("HYDRA_EMBEDDING_MODEL") or DEFAULT)


def is_available() -> bool:
    return model_path().is_file()


@lru_cache(maxsize=1)
def _session(path: str) -> Any:
    import onnxruntime  # 0.2 s; campaigns without photos never pay it

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # same sums in the same order on every machine size
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def embed(images: Sequence[Pixels]) -> NDArray[np.float32]:
    """Unit vectors, shape (n, 1280). Cost: some 10-20 ms per picture on one core."""
    session = _session(str(model_path()))
    name = session.get_inputs()[0].name
    found = []
    for start in range(0, len(images), BATCH):
        batch = np.stack([_prepared(pixels) for pixels in images[start : start + BATCH]])
        found.append(session.run(None, {name: batch})[0].reshape(len(batch), -1))
    vectors = np.concatenate(found)
    return np.asarray(
        vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6), dtype=np.float32
    )


def _prepared(pixels: Pixels) -> NDArray[np.float32]:
    """(3, 224, 224): the shorter side to 224, the middle cut out, (x - 127) / 128 as the model was trained."""
    image = Image.fromarray(pixels).convert("RGB")
    scale = SIDE / min(image.size)
    image = image.resize(
        (max(SIDE, round(image.width * scale)), max(SIDE, round(image.height * scale))),
        Image.Resampling.BICUBIC,
    )
    left, top = (image.width - SIDE) // 2, (image.height - SIDE) // 2
    cut = np.asarray(image.crop((left, top, left + SIDE, top + SIDE)), dtype=np.float32)
    return np.ascontiguousarray(((cut - 127.0) / 128.0).transpose(2, 0, 1))
