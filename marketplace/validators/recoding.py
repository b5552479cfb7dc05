"""What usual transformations make of small grey pictures: JPEG, and shrinking to half and enlarging again.

Many pictures and many qualities at once, as matrix products; equal to what Pillow writes and reads back but for
single grey levels (tests compare). For thumbnails only: a photo's file is never made here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import fft

Floats = NDArray[np.float32]
BLOCK = 8
ROUND_HALF_AWAY = (
    0.50001  # ties are common (flat blocks); single precision puts them on either side of a half
)
# Source: ITU-T T.81, table K.1: the luminance table that libjpeg scales by quality.
LUMINANCE = np.array([
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56,
    14, 17, 22, 29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92,
    49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
])  # fmt: skip


def steps(quality: int) -> Floats:
    """The quantisation steps at a quality of 1 to 100. Source: jpeg_quality_scaling of libjpeg. (64,)."""
    scale = 5000 // quality if quality < 50 else 200 - 2 * quality
    return np.clip((LUMINANCE * scale + 50) // 100, 1, 255).astype(np.float32)


@lru_cache(maxsize=1)
def _cosines() -> Floats:
    """Two-dimensional cosine transform of a block laid out in a row: block @ this. (64, 64), orthonormal."""
    one = fft.dct(np.eye(BLOCK), axis=0, norm="ortho")
    return np.asarray(np.kron(one, one).T, dtype=np.float32)


def in_blocks(images: NDArray[Any]) -> Floats:
    """Cut in blocks of 8 × 8, the last row and column repeated where a side does not divide. (n, blocks, 64)."""
    n, side = len(images), images.shape[-1]
    more = -side % BLOCK
    padded = np.pad(images.astype(np.float32), ((0, 0), (0, more), (0, more)), mode="edge")
    count = (side + more) // BLOCK
    cut = padded.reshape(n, count, BLOCK, count, BLOCK).transpose(0, 1, 3, 2, 4)
    return np.ascontiguousarray(cut).reshape(n, count * count, BLOCK * BLOCK)


def from_blocks(blocks: NDArray[Any], side: int) -> NDArray[Any]:
    """Undoes `in_blocks`. (n, blocks, 64) → (n, side, side)."""
    count = -(-side // BLOCK)
    whole = blocks.reshape(-1, count, count, BLOCK, BLOCK).transpose(0, 1, 3, 2, 4)
    return whole.reshape(-1, count * BLOCK, count * BLOCK)[:, :side, :side]


@dataclass(frozen=True)
class Spectrum:
    """The coefficients that JPEG quantises, in whole eighths as libjpeg has them, and what rounds them. (n, blocks, 64)."""

    eighths: Floats
    half: Floats

    @classmethod
    def of(cls, images: NDArray[Any]) -> Self:
        eighths = (in_blocks(images) - 128) @ (8 * _cosines())
        np.rint(eighths, out=eighths)
        return cls(eighths, np.copysign(np.float32(ROUND_HALF_AWAY), eighths))


def through_jpeg(spectrum: Spectrum, quality: int) -> Floats:
    """The pictures after JPEG at this quality, in blocks, grey levels less 128."""
    by = steps(quality)
    kept = spectrum.eighths * (1 / (8 * by))
    kept += spectrum.half
    np.trunc(kept, out=kept)
    kept *= by
    made = kept @ _cosines().T
    np.rint(made, out=made)
    return np.asarray(np.clip(made, -128, 127, out=made))


def _triangle(x: NDArray[Any]) -> NDArray[Any]:
    return np.maximum(0, 1 - np.abs(x))


def _cubic(x: NDArray[Any]) -> NDArray[Any]:
    """Keys' cubic with a = -0.5, as Pillow has it."""
    x = np.abs(x)
    near, far = (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _lanczos(x: NDArray[Any]) -> NDArray[Any]:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


Filter = Callable[[NDArray[Any]], NDArray[Any]]
HALVINGS: tuple[tuple[Filter, Filter | None], ...] = (
    (_cubic, _cubic),
    (_lanczos, _lanczos),
    (_triangle, None),  # None: each pixel twice
)


@lru_cache(maxsize=32)
def _resampling(kind: Filter | None, old: int, new: int) -> Floats:
    """The matrix by which Pillow resizes one direction: the filter widened when shrinking. (new, old)."""
    if kind is None:
        return np.repeat(np.eye(old, dtype=np.float32), new // old, axis=0)
    scale = old / new
    centres = (np.arange(new) + 0.5) * scale
    weights = kind((np.arange(old)[None, :] + 0.5 - centres[:, None]) / max(scale, 1.0))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float32)


def _resized(images: Floats, kind: Filter | None, side: int) -> Floats:
    """Columns first, then rows, whole grey levels after each, as Pillow does."""
    matrix = _resampling(kind, images.shape[-1], side)
    wide = np.clip(np.floor(images @ matrix.T + 0.5), 0, 255)  # halves upwards
    return np.asarray(np.clip(np.floor(matrix @ wide + 0.5), 0, 255))


def through_half(images: NDArray[Any], down: Filter, up: Filter | None) -> Floats:
    """Shrunk to half its side and enlarged again. (n, side, side), even side."""
    side = images.shape[-1]
    return _resized(_resized(images.astype(np.float32), down, side // 2), up, side)


def explain(sources: NDArray[Any], targets: NDArray[Any], qualities: Sequence[int]) -> Floats:
    """The best likeness of each target to what JPEG at any of these qualities makes of its source. (n,).

    Shapes: both (n, side, side). The outermost pixels do not count.
    """
    side = sources.shape[-1]
    frame = np.zeros((1, side, side), dtype=np.float32)
    frame[:, 1:-1, 1:-1] = 1
    inside = _framed(in_blocks(np.ones_like(frame)), frame).ravel()
    goals = _goals(targets)
    laid_out = _framed(in_blocks(goals), frame)
    middle = sources[:, 1:-1, 1:-1].mean(axis=(1, 2), dtype=np.float32)[:, None] - 128
    waves = Spectrum.of(sources)
    made = (through_jpeg(waves, quality).reshape(len(sources), -1) for quality in qualities)
    return np.maximum.reduce([_likeness(one - middle, laid_out, inside) for one in made])


def _framed(blocks: Floats, frame: Floats) -> Floats:
    """Zero outside the frame, also where the blocks repeat the last row and column. (n, d)."""
    side = frame.shape[-1]
    more = -side % BLOCK
    mask = in_blocks(np.pad(frame, ((0, 0), (0, more), (0, more))))
    return np.asarray((blocks * mask).reshape(len(blocks), -1))


def explain_by_halving(sources: NDArray[Any], targets: NDArray[Any]) -> Floats:
    """The best likeness of each target to its source shrunk to half and enlarged again. (n,)."""
    side = sources.shape[-1]
    frame = np.zeros((side, side), dtype=np.float32)
    frame[1:-1, 1:-1] = 1
    goals = _goals(targets).reshape(len(targets), -1)
    middle = sources[:, 1:-1, 1:-1].mean(axis=(1, 2), dtype=np.float32)[:, None]
    made = (through_half(sources, *how).reshape(len(sources), -1) for how in HALVINGS)
    return np.maximum.reduce([_likeness(one - middle, goals, frame.ravel()) for one in made])


def _goals(targets: NDArray[Any]) -> Floats:
    """Centred within the frame, of length 1, and zero outside. (n, side, side)."""
    goals = np.zeros(targets.shape, dtype=np.float32)
    inner = targets[:, 1:-1, 1:-1].astype(np.float32)
    inner -= inner.mean(axis=(1, 2), keepdims=True)
    goals[:, 1:-1, 1:-1] = inner / np.maximum(np.linalg.norm(inner, axis=(1, 2), keepdims=True), 1e-6)
    return goals


def _likeness(made: Floats, goals: Floats, inside: Floats) -> Floats:
    """Correlation within the frame; `made` is near its mean already, so that single precision suffices. (n,)."""
    spread = np.maximum((made * made) @ inside - (made @ inside) ** 2 / inside.sum(), 1e-6)
    return np.asarray(np.einsum("nd,nd->n", made, goals) / np.sqrt(spread))
