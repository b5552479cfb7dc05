"""Near-duplicate pictures: small thumbnails compared by correlation, then by the transformations people use.

A re-encoded copy of a 28 × 28 digit differs from it by more than two different "1"s differ from each other,
so likeness alone cannot tell them apart. Hence the second step: is one picture what JPEG, or shrinking and
enlarging, makes of the other? Thresholds and how they were found: docs/validators.md.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import fft, ndimage

from marketplace.validators.near import Near
from marketplace.validators.pixels import Pixels, is_low_resolution, shrink

Floats = NDArray[np.float32]
MAX_SIDE = 32
FLAT = 2.0  # grey levels of spread: below it a thumbnail has nothing to compare (S5: white against blue)
CANDIDATES = 24
EXPLAINED = 3  # of the candidates, how many are worth the second step
LOOK_CLOSER = 0.90
QUALITIES = (30, 40, 50, 60, 70, 80)
BETWEEN = (25, 35, 45, 55, 65, 75, 85)
REFINE = 0.97  # worth trying the qualities in between
HALVINGS = (
    (Image.Resampling.BICUBIC, Image.Resampling.BICUBIC),
    (Image.Resampling.LANCZOS, Image.Resampling.LANCZOS),
    (Image.Resampling.BILINEAR, Image.Resampling.NEAREST),
)
LOW_RESOLUTION_NEAR = 0.991  # 99.5 % of different upscaled digits and of different clothes stay below
PHOTO_NEAR = 0.95  # 99.5 % of different tiles of one photo stay below 0.91
COLOUR_NEAR = 24.0  # levels between the mean colours; a red and a green light are not copies
SHIFTS = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
COARSE_MOVES = (4, 13, 0, 2, 6, 8, 9, 11, 15, 17)  # of the 18 variants: in place, and by a pixel diagonally
HASH_NEAR = 10  # bits of 64 (docs/validators.md): finds what the coarse correlation ranks low


def image_sketch(pixels: Pixels, *, min_side: int) -> dict[str, Any]:
    """What the index needs to know of a picture, as JSON of at most 1.5 KB.

    A grey thumbnail (native for low-resolution campaigns, else 32 × 32), a 64-bit perceptual hash of it and of
    its mirror image, and the mean colour.
    """
    side = MAX_SIDE if not is_low_resolution(min_side) else min(MAX_SIDE, max(8, min_side // 2 * 2))
    thumb = np.rint(shrink(pixels, side)).astype(np.uint8)
    colour = pixels.reshape(-1, 3).mean(axis=0) if pixels.ndim == 3 else np.full(3, pixels.mean())
    return {
        "v": 1,
        "side": side,
        "low": is_low_resolution(min_side),
        "thumb": base64.b85encode(thumb.tobytes()).decode(),
        "hash": f"{perceptual_hash(thumb):016x}",
        "mirror": f"{perceptual_hash(thumb[:, ::-1]):016x}",
        "colour": [round(float(c), 1) for c in colour],
    }


def perceptual_hash(thumb: NDArray[Any]) -> int:
    """64 bits: which of the 8 × 8 lowest DCT coefficients exceed their median.

    Source: the pHash of Zauner, "Implementation and Benchmarking of Perceptual Image Hash Functions", 2010.
    """
    low = fft.dctn(np.asarray(thumb, dtype=np.float64), norm="ortho")[:8, :8]
    bits = (low > np.median(low.ravel()[1:])).ravel()
    return int.from_bytes(np.packbits(bits).tobytes(), "big")


def _thumb(sketch: Mapping[str, Any], side: int) -> NDArray[np.uint8]:
    own = int(sketch["side"])
    thumb = np.frombuffer(base64.b85decode(sketch["thumb"]), dtype=np.uint8).reshape(own, own)
    return thumb if own == side else np.rint(shrink(thumb, side)).astype(np.uint8)


def _unit(images: NDArray[Any]) -> Floats:
    """Flattened, mean 0, length 1, so that a product is the normalised cross-correlation. (…, h, w) → (…, h·w)."""
    flat = np.ascontiguousarray(images).reshape(*images.shape[:-2], -1).astype(np.float32)
    flat = flat - flat.mean(axis=-1, keepdims=True)
    return np.asarray(flat / np.maximum(np.linalg.norm(flat, axis=-1, keepdims=True), 1e-6))


def _soft(thumbs: NDArray[Any]) -> Floats:
    return np.asarray(ndimage.gaussian_filter(thumbs.astype(np.float32), (0, 1.2, 1.2), mode="nearest"))


def _coarse(soft: Floats) -> Floats:
    """Averaged by twos after blurring: a copy moved by a pixel stays near. (n, s, s) → (n, (s/2)²) unit vectors."""
    n, side = soft.shape[0], soft.shape[1]
    return _unit(soft.reshape(n, side // 2, 2, side // 2, 2).mean(axis=(2, 4)))


def _halved(thumbs: NDArray[Any]) -> Floats:
    """Shrunk to half by averaging and enlarged again linearly; (…, s, s) → (…, s, s)."""
    side = thumbs.shape[-1]
    flat = thumbs.reshape(-1, side // 2, 2, side // 2, 2).astype(np.float32).mean(axis=(2, 4))
    rows = _enlarging(side)
    return np.asarray((rows @ flat @ rows.T).reshape(thumbs.shape))


def _enlarging(side: int) -> Floats:
    """The matrix of linear enlarging by two with pixel centres at .5, shape (side, side / 2)."""
    at = np.clip((np.arange(side) + 0.5) / 2 - 0.5, 0, side // 2 - 1)
    low = np.floor(at).astype(int)
    matrix = np.zeros((side, side // 2), dtype=np.float32)
    matrix[np.arange(side), low] = 1 - (at - low)
    matrix[np.arange(side), np.minimum(low + 1, side // 2 - 1)] += at - low
    return matrix


def _moved(thumb: NDArray[Any], variant: int) -> NDArray[Any]:
    """Variants 0-8 are moves by up to a pixel, 9-17 the same of the mirror image."""
    source = thumb[..., ::-1] if variant >= len(SHIFTS) else thumb
    return np.roll(source, SHIFTS[variant % len(SHIFTS)], axis=(-2, -1))


def _moved_back(thumb: NDArray[Any], variant: int) -> NDArray[Any]:
    dy, dx = SHIFTS[variant % len(SHIFTS)]
    back = np.roll(thumb, (-dy, -dx), axis=(-2, -1))
    return back[..., ::-1] if variant >= len(SHIFTS) else back


class NearImages:
    """Thumbnails of one campaign, all of one side; grows by `add`, asked by `nearest`."""

    def __init__(self) -> None:
        self._side = 0
        self._low = False
        self._keys: list[str] = []
        self._colours: list[list[float]] = []
        self._pending: list[NDArray[np.uint8]] = []
        self._hash_rows: list[int] = []
        self._thumbs: NDArray[np.uint8] = np.zeros((0, 0, 0), dtype=np.uint8)
        self._coarse: Floats = np.zeros((0, 0), dtype=np.float32)
        self._hashes: NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)

    def add(self, key: str, sketch: Mapping[str, Any]) -> None:
        self._side = self._side or int(sketch["side"])
        self._low = bool(sketch["low"])
        thumb = _thumb(sketch, self._side)
        if thumb.std() < FLAT:
            return  # flat pictures are alike in everything: only their exact hashes count
        self._keys.append(key)
        self._colours.append(list(sketch["colour"]))
        self._hash_rows.append(int(sketch["hash"], 16))
        self._pending.append(thumb)

    def _settle(self) -> None:
        """Takes in what was added since the last query; arrays grow by doubling, so one at a time stays cheap."""
        if not self._pending:
            return
        fresh = np.stack(self._pending)
        start, self._pending = len(self._keys) - len(fresh), []
        self._thumbs = _grown(self._thumbs, fresh, start)
        self._coarse = _grown(self._coarse, _coarse(_soft(fresh)), start)
        hashes = np.array(self._hash_rows[start:], dtype=np.uint64)
        self._hashes = _grown(self._hashes, hashes, start)

    def nearest(self, sketches: Sequence[Mapping[str, Any]]) -> list[Near | None]:
        """The most alike known picture for each, or None for flat pictures and an empty index."""
        self._settle()
        if not self._keys:
            return [None] * len(sketches)
        thumbs = np.stack([_thumb(sketch, self._side) for sketch in sketches])
        likely = self._likely(thumbs)
        return [
            None if thumb.std() < FLAT else self._best(thumb, sketch, self._candidates(row, sketch))
            for thumb, sketch, row in zip(thumbs, sketches, likely, strict=True)
        ]

    def _likely(self, thumbs: NDArray[np.uint8]) -> Floats:
        """Coarse likeness of each query to each known picture, over moves and mirrors. (queries, known)."""
        known = self._coarse[: len(self._keys)]
        moves = COARSE_MOVES if self._low else COARSE_MOVES[:2]
        soft = _soft(thumbs)
        return np.maximum.reduce([_coarse(_moved(soft, variant)) @ known.T for variant in moves])

    def _candidates(self, likely: Floats, sketch: Mapping[str, Any]) -> NDArray[np.intp]:
        count = min(CANDIDATES, len(likely))
        chosen = np.argpartition(-likely, count - 1)[:count]
        if self._low:
            return chosen
        hashes = np.array([int(sketch["hash"], 16), int(sketch["mirror"], 16)], dtype=np.uint64)
        bits = np.bitwise_count(self._hashes[: len(self._keys), None] ^ hashes[None, :]).min(axis=1)
        return np.union1d(chosen, np.argsort(bits, kind="stable")[:4][np.sort(bits)[:4] <= HASH_NEAR])

    def _best(
        self, thumb: NDArray[np.uint8], sketch: Mapping[str, Any], candidates: NDArray[np.intp]
    ) -> Near | None:
        candidates = np.array(
            [c for c in candidates if _same_colour(sketch["colour"], self._colours[c])], dtype=np.intp
        )
        if not len(candidates):
            return None
        threshold = LOW_RESOLUTION_NEAR if self._low else PHOTO_NEAR
        alike = _aligned(thumb, self._thumbs[candidates])  # (18, candidates)
        best = alike.max(axis=0)
        order = np.argsort(-best, kind="stable")
        winner, similarity, detail = order[0], float(best[order[0]]), ""
        if self._low and LOOK_CLOSER <= similarity < threshold:
            for index in order[:EXPLAINED]:
                variant = int(alike[:, index].argmax())
                value = _explained(thumb, self._thumbs[candidates[index]], variant, threshold)
                if value > similarity:
                    winner, similarity, detail = index, value, ", as a re-encoded copy"
        if int(alike[:, winner].argmax()) >= len(SHIFTS):
            detail += ", mirrored"
        return Near(self._keys[candidates[winner]], min(1.0, similarity), threshold, detail)


def _grown(held: NDArray[Any], fresh: NDArray[Any], start: int) -> NDArray[Any]:
    """`held` with `fresh` written from row `start` on, in a copy of twice the room where there is none left."""
    needed = start + len(fresh)
    if needed > len(held):
        room = np.zeros((max(needed, 2 * len(held)), *fresh.shape[1:]), dtype=fresh.dtype)
        room[:start] = held[:start] if start else 0
        held = room
    held[start:needed] = fresh
    return held


def _same_colour(one: Sequence[float], other: Sequence[float]) -> bool:
    """Equal up to brightness; a grey copy of a coloured picture counts as the same."""
    a, b = np.asarray(one) - np.mean(one), np.asarray(other) - np.mean(other)
    if min(np.abs(a).max(), np.abs(b).max()) < 1.0:
        return True
    return float(np.abs(a - b).max()) <= COLOUR_NEAR


def _inner(images: NDArray[Any]) -> NDArray[Any]:
    """Without the outermost pixels, where a moved picture holds what came in from the other side."""
    return images[..., 1:-1, 1:-1]


def _aligned(thumb: NDArray[np.uint8], known: NDArray[np.uint8]) -> Floats:
    """Correlation for each of 18 moves and each known thumbnail, also with either side halved. (18, n)."""
    moved = np.stack([_moved(thumb, variant) for variant in range(2 * len(SHIFTS))])
    halved = _unit(_inner(np.stack([_moved(_halved(thumb), variant) for variant in range(2 * len(SHIFTS))])))
    plain, theirs, theirs_halved = _unit(_inner(moved)), _unit(_inner(known)), _unit(_inner(_halved(known)))
    return np.maximum.reduce([plain @ theirs.T, plain @ theirs_halved.T, halved @ theirs.T])


def _explained(query: NDArray[np.uint8], known: NDArray[np.uint8], variant: int, enough: float) -> float:
    """How well one picture is what a usual transformation makes of the other, in either direction."""
    best = 0.0
    for source, target in (
        (_moved_back(known, variant), query),
        (_moved(query, variant), known),
    ):
        image = Image.fromarray(np.ascontiguousarray(source))
        goal = _unit(_inner(target))
        for quality in (*QUALITIES, *HALVINGS):
            best = max(best, _likeness(image, quality, goal))
            if best >= enough:
                return best
        if best >= REFINE:
            best = max(best, *(_likeness(image, quality, goal) for quality in BETWEEN))
    return best


def _likeness(
    image: Image.Image, how: int | tuple[Image.Resampling, Image.Resampling], goal: Floats
) -> float:
    made = _through_jpeg(image, how) if isinstance(how, int) else _through_half(image, *how)
    return float(_unit(_inner(made)) @ goal)


def _through_jpeg(image: Image.Image, quality: int) -> NDArray[np.uint8]:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality)
    with Image.open(out, formats=("JPEG",)) as copy:
        return np.asarray(copy.convert("L"))


def _through_half(image: Image.Image, down: Image.Resampling, up: Image.Resampling) -> NDArray[np.uint8]:
    half = image.resize((image.width // 2, image.height // 2), down)
    return np.asarray(half.resize(image.size, up))
