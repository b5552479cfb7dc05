"""Small grey pictures as the near-duplicate search holds them: as text, hashed, moved, halved, blurred, in batches.

Everything linear (blur, moves, averaging, cosine transform) is a product with a small matrix made once per side.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft, ndimage

Floats = NDArray[np.float32]
Thumbs = NDArray[np.uint8]  # (n, side, side)
SHIFTS = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
VARIANTS = 2 * len(SHIFTS)  # 0-8 are moves by up to a pixel, 9-17 the same of the mirror image
COARSE = 7  # frequencies kept a direction; blurred by 1.2 pixels, a thumbnail has next to nothing above
ODD_TURN = np.array([1.0, -1.0] * 4)  # mirrored, the odd cosines along a row change their sign
_LETTERS = np.frombuffer(
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~", dtype=np.uint8
)
_PLACES = np.array([85**4, 85**3, 85**2, 85, 1], dtype=np.uint32)
_DIGITS = np.zeros(256, dtype=np.uint32)
_DIGITS[_LETTERS] = np.arange(85)


def to_text(thumb: NDArray[np.uint8]) -> str:
    """Base 85 as base64.b85encode writes it, without its loop. The number of pixels must divide by four."""
    words = np.frombuffer(np.ascontiguousarray(thumb).tobytes(), dtype=">u4").astype(np.uint32)
    return _LETTERS[words[:, None] // _PLACES % 85].tobytes().decode()


def from_texts(texts: list[str], side: int) -> Thumbs:
    """The thumbnails that `to_text` wrote, all of one side. (n, side, side)."""
    letters = np.frombuffer("".join(texts).encode(), dtype=np.uint8).reshape(-1, 5)
    words = (_DIGITS[letters] * _PLACES).sum(axis=1, dtype=np.uint32)
    return words.astype(">u4").view(np.uint8).reshape(len(texts), side, side)


def perceptual_hashes(thumb: NDArray[Any]) -> tuple[int, int]:
    """Of the thumbnail and of its mirror image: which of the 8 × 8 lowest DCT coefficients exceed their median.

    Source: the pHash of Zauner, "Implementation and Benchmarking of Perceptual Image Hash Functions", 2010.
    """
    matrix = _lowest(thumb.shape[0])
    low = np.round(matrix @ np.asarray(thumb, dtype=np.float64) @ matrix.T, 6)  # what should be zero is zero
    return _median_bits(low), _median_bits(low * ODD_TURN)


@lru_cache(maxsize=8)
def _lowest(side: int) -> NDArray[np.float64]:
    return np.asarray(fft.dct(np.eye(side), axis=0, norm="ortho")[:8])


def _median_bits(low: NDArray[np.float64]) -> int:
    """The first coefficient, the mean, is no part of the median. Of 63 the middle one is the 32nd."""
    median = np.partition(low.ravel()[1:], 31)[31]
    return int.from_bytes(np.packbits(low > median).tobytes(), "big")


@lru_cache(maxsize=8)
def halving(side: int) -> Floats:
    """The matrix of averaging by twos and enlarging again linearly, pixel centres at .5. (side, side)."""
    at = np.clip((np.arange(side) + 0.5) / 2 - 0.5, 0, side // 2 - 1)
    low = np.floor(at).astype(int)
    enlarge = np.zeros((side, side // 2), dtype=np.float32)
    enlarge[np.arange(side), low] = 1 - (at - low)
    enlarge[np.arange(side), np.minimum(low + 1, side // 2 - 1)] += at - low
    return np.asarray(enlarge @ (np.repeat(np.eye(side // 2, dtype=np.float32), 2, axis=1) / 2))


def halved(thumbs: NDArray[Any]) -> Floats:
    matrix = halving(thumbs.shape[-1])
    return np.asarray(matrix @ thumbs.astype(np.float32) @ matrix.T)


def moved(thumbs: NDArray[Any], variants: NDArray[np.intp], *, back: bool = False) -> NDArray[Any]:
    """Each thumbnail in its own variant, or (`back`) what that variant was made of. (n, s, s) → (n, s, s)."""
    out = np.empty_like(thumbs)
    for variant in np.unique(variants):
        chosen = variants == variant
        dy, dx = SHIFTS[variant % len(SHIFTS)]
        mirror = -1 if variant >= len(SHIFTS) else 1
        if back:
            out[chosen] = np.roll(thumbs[chosen], (-dy, -dx), axis=(1, 2))[..., ::mirror]
        else:
            out[chosen] = np.roll(thumbs[chosen][..., ::mirror], (dy, dx), axis=(1, 2))
    return out


@lru_cache(maxsize=8)
def _blurring(side: int) -> Floats:
    """For moves by -1, 0 and 1: blur, move, average by twos, keep the lowest frequencies. (3, COARSE, side)."""
    blur = ndimage.gaussian_filter1d(np.eye(side), 1.2, axis=0, mode="nearest")
    made = []
    for shift in (-1, 0, 1):
        pairs = np.roll(blur, shift, axis=0).reshape(side // 2, 2, side).mean(axis=1)
        made.append(fft.dct(pairs, axis=0, norm="ortho")[:COARSE])
    return np.asarray(made, dtype=np.float32)


def coarse(thumbs: NDArray[Any], variants: tuple[int, ...] = (4,)) -> Floats:
    """Unit vectors in which a copy moved by a pixel stays near. (n, s, s) → (variants, n, d)."""
    blurring = _blurring(thumbs.shape[-1])
    plain = thumbs.astype(np.float32)
    made = []
    for variant in variants:
        dy, dx = SHIFTS[variant % len(SHIFTS)]
        source = plain[..., ::-1] if variant >= len(SHIFTS) else plain
        low = (blurring[dy + 1] @ source @ blurring[dx + 1].T).reshape(len(thumbs), -1)
        made.append(low[:, 1:])  # without the first, which is the mean
    vectors = np.stack(made)
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-6))


def inner_norms(thumbs: NDArray[Any]) -> Floats:
    """Spread of each thumbnail within the border of one pixel, as the length of the centred vector. (n,)."""
    inner = thumbs[..., 1:-1, 1:-1].reshape(len(thumbs), -1).astype(np.float32)
    return np.asarray(np.linalg.norm(inner - inner.mean(axis=1, keepdims=True), axis=1))


def probes(thumbs: NDArray[Any]) -> Floats:
    """What known thumbnails are multiplied with for their likeness to these ones. (n, 3, VARIANTS, side²).

    Per variant three: for the picture, for what halving makes of the known one, and for the halved picture.
    The outermost pixels are zero: there a moved picture holds nothing. The products are still to be divided
    by the known one's inner norm (of its halved self for the second).
    """
    n, side = len(thumbs), thumbs.shape[-1]
    out = np.zeros((n, 3, VARIANTS, side, side), dtype=np.float32)
    for kind, pictures in ((0, thumbs.astype(np.float32)), (2, halved(thumbs))):
        windows = np.stack(
            [pictures[:, 1 - dy : side - 1 - dy, 1 - dx : side - 1 - dx] for dy, dx in SHIFTS], axis=1
        )
        windows -= windows.mean(axis=(2, 3), keepdims=True)
        lengths = np.sqrt(np.einsum("nvij,nvij->nv", windows, windows))
        windows /= np.maximum(lengths, 1e-6)[..., None, None]
        out[:, kind, : len(SHIFTS), 1:-1, 1:-1] = windows
        other_way = [SHIFTS.index((dy, -dx)) for dy, dx in SHIFTS]
        out[:, kind, len(SHIFTS) :, 1:-1, 1:-1] = windows[:, other_way, :, ::-1]
    matrix = halving(side)
    np.matmul(matrix.T @ out[:, 0], matrix, out=out[:, 1])
    return out.reshape(n, 3, VARIANTS, side * side)
