"""Numbers to learn from: pictures, texts and rows as vectors, without looking at any label.

Stateless except for rows, whose scale comes from a reference (the accepted rows), never from the batch under test.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage, sparse
from sklearn.feature_extraction.text import HashingVectorizer

from marketplace.validators import embeddings
from marketplace.validators.pixels import Pixels, is_low_resolution, shrink

Features: TypeAlias = Any  # (n, d): a dense array of float32, or a scipy csr_matrix
SIDE = 28
CELLS, ORIENTATIONS = 5, 8
TEXT_BLOCK = 2**16  # columns for words, and as many for characters


def image_features(images: Sequence[Pixels], *, min_side: int) -> NDArray[np.float32]:
    """Shape (n, d). An embedding for photos where the exported model is there, else gradients and colours.

    Which of the two was used depends on the machine's set-up: labels.check records it (`features_name`).
    """
    if not images:
        return np.zeros((0, 1), dtype=np.float32)
    if not is_low_resolution(min_side) and embeddings.is_available():
        return embeddings.embed(images)
    thumbs = np.stack([shrink(pixels, SIDE) for pixels in images]) / 255.0
    colours = np.stack([_colours(pixels) for pixels in images])
    return np.concatenate([gradient_directions(thumbs), 0.25 * colours], axis=1)


def features_name(modality: str, min_side: int = 0) -> str:
    """What image_features, text_features or row_features would use here, for the record."""
    if modality == "image":
        photo = not is_low_resolution(min_side) and embeddings.is_available()
        return embeddings.NAME if photo else "gradients and colours/1"
    return {"text": "hashed words and characters/1"}.get(modality, "scaled and one-hot/1")


def _colours(pixels: Pixels) -> NDArray[np.float32]:
    """Mean colour of 4 × 4 fields, -1 to 1. Shape (48,)."""
    image = Image.fromarray(pixels).convert("RGB").resize((4, 4), Image.Resampling.BOX)
    return np.asarray(image, dtype=np.float32).ravel() / 127.5 - 1.0


def gradient_directions(thumbs: NDArray[np.float32]) -> NDArray[np.float32]:
    """Histograms of oriented gradients, L2-normalised. (n, SIDE, SIDE) → (n, CELLS² · ORIENTATIONS).

    Source: Dalal and Triggs, "Histograms of oriented gradients for human detection", CVPR 2005; with signed
    directions, square roots, and cells that fade into one another (400 digits: 96 % right, hard cells 94 %).
    """
    dy, dx = np.gradient(thumbs, axis=(1, 2))
    size = np.hypot(dx, dy)
    turn = np.arctan2(dy, dx) * (ORIENTATIONS / (2 * np.pi))
    below = np.floor(turn)
    upper = size * (turn - below)
    lower, direction = size - upper, below.astype(np.int8) % ORIENTATIONS
    cells = _cells()
    bins = np.empty((len(thumbs), ORIENTATIONS, CELLS, CELLS), dtype=np.float32)
    for number in range(ORIENTATIONS):  # each gradient counts in the two directions that it lies between
        plane = lower * (direction == number) + upper * (direction == (number - 1) % ORIENTATIONS)
        bins[:, number] = cells @ plane @ cells.T
    flat = np.sqrt(np.maximum(bins, 0)).reshape(len(thumbs), -1)
    return np.asarray(flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-6))


@lru_cache(maxsize=1)
def _cells() -> NDArray[np.float32]:
    """Blurs a direction's plane and reads it at the cells' centres. (CELLS, SIDE)."""
    cell = SIDE / CELLS
    centres = ((np.arange(CELLS) + 0.5) * cell).astype(int)
    return np.asarray(ndimage.gaussian_filter1d(np.eye(SIDE), cell / 2, axis=0)[centres], dtype=np.float32)


def text_features(texts: Sequence[str]) -> sparse.csr_matrix:
    """Counts of hashed words (1-2) and characters (3-4 within words). Shape (n, 2¹⁷), sparse.

    Hashed rather than with a vocabulary, so that no fitting on the batch under test is needed; the weights
    by document frequency are learnt from the trusted texts in labels.check.
    """
    if not texts:  # the vectorizers need a first one
        return sparse.csr_matrix((0, 2 * TEXT_BLOCK), dtype=np.float64)
    words = HashingVectorizer(n_features=TEXT_BLOCK, ngram_range=(1, 2), alternate_sign=False, norm=None)
    chars = HashingVectorizer(
        n_features=TEXT_BLOCK, analyzer="char_wb", ngram_range=(3, 4), alternate_sign=False, norm=None
    )
    cut = [text[:20_000] for text in texts]
    return sparse.csr_matrix(sparse.hstack([words.transform(cut), chars.transform(cut)]))


def row_features(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[Mapping[str, Any]],
    reference: Sequence[Mapping[str, Any]],
) -> NDArray[np.float32]:
    """Numbers by the reference's median and spread, cut at ±5, with a missing mark; categories one-hot. (n, d)."""
    parts = [_column(rows, column, reference) for column in columns]
    return np.hstack(parts).astype(np.float32) if parts else np.zeros((len(rows), 1), dtype=np.float32)


def _column(
    rows: Sequence[Mapping[str, Any]], column: Mapping[str, Any], reference: Sequence[Mapping[str, Any]]
) -> NDArray[np.float64]:
    name = str(column["name"])
    if column.get("type") == "number":
        return _scaled(_numbers(rows, name), _numbers(reference, name))
    known = sorted(
        {str(row[name]) for row in reference if row.get(name) is not None}
        | set(map(str, column.get("values") or ()))
    )
    place = {value: i for i, value in enumerate(known[:200])}
    hot = np.zeros((len(rows), len(place) + 1))
    for i, row in enumerate(rows):
        hot[i, place.get(str(row.get(name)), len(place))] = 1.0
    return hot


def _numbers(rows: Sequence[Mapping[str, Any]], name: str) -> NDArray[np.float64]:
    values = [row.get(name) for row in rows]
    return np.array(
        [float(v) if isinstance(v, (int, float)) and math.isfinite(v) else np.nan for v in values]
    )


def _scaled(values: NDArray[np.float64], reference: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard score and rank among the reference (income-like columns have long tails), and the missing mark."""
    known = np.sort(reference[np.isfinite(reference)])
    missing = ~np.isfinite(values)
    if not len(known):
        return np.column_stack([np.zeros(len(values)), np.zeros(len(values)), missing])
    score = np.clip((values - known.mean()) / max(float(known.std()), 1e-9), -5, 5)
    rank = np.searchsorted(known, values, side="right") / len(known) * 2 - 1
    return np.column_stack([np.where(missing, 0, score), np.where(missing, 0, rank), missing])
