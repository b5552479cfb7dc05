"""Near-duplicate pictures: small thumbnails compared by correlation, then by the transformations people use.

A re-encoded copy of a 28 × 28 digit differs from it by more than two different "1"s differ from each other,
so likeness alone cannot tell them apart. Hence the second step: is one picture what JPEG, or shrinking and
enlarging, makes of the other? Works on batches: arithmetic on thumbnails is thumbnails.py's, what the
transformations make is recoding.py's. Thresholds and how they were found: docs/validators.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from marketplace.validators import recoding, thumbnails
from marketplace.validators.near import Near
from marketplace.validators.pixels import Pixels, is_low_resolution, shrink
from marketplace.validators.thumbnails import SHIFTS, VARIANTS, Floats, Thumbs

MAX_SIDE = 32
FLAT = 2.0  # grey levels of spread: below it a thumbnail has nothing to compare (S5: white against blue)
CANDIDATES = 16  # 8 lose none of 400 copies among 4,000 digits or clothes
BY_HASH = 4
EXPLAINED = 3  # of the candidates, how many are worth the second step
LOOK_CLOSER = 0.90
QUALITIES = (30, 40, 50, 60, 70, 80)
BETWEEN = (25, 35, 45, 55, 65, 75, 85)
REFINE = 0.97  # worth trying the qualities in between
LOW_RESOLUTION_NEAR = 0.991  # 99.5 % of different upscaled digits and of different clothes stay below
PHOTO_NEAR = 0.95  # 99.5 % of different tiles of one photo stay below 0.91
COLOUR_NEAR = 24.0  # levels between the mean colours; a red and a green light are not copies
IN_PLACE = (4, 13)  # of the 18 variants: as it is, and mirrored; photos' thumbnails hide a pixel's move
HASH_NEAR = 10  # bits of 64 (docs/validators.md): finds what the coarse correlation ranks low
CHUNK = 32  # queries at once: their arrays stay in the processor's cache
NEVER = -2.0  # below any correlation


def image_sketch(pixels: Pixels, *, min_side: int) -> dict[str, Any]:
    """What the index needs to know of a picture, as JSON of at most 1.5 KB.

    A grey thumbnail (native for low-resolution campaigns, else 32 × 32), a 64-bit perceptual hash of it and of
    its mirror image, and the mean colour.
    """
    side = MAX_SIDE if not is_low_resolution(min_side) else min(MAX_SIDE, max(8, min_side // 2 * 2))
    thumb = np.rint(shrink(pixels, side)).astype(np.uint8)
    own, mirror = thumbnails.perceptual_hashes(thumb)
    return {
        "v": 1,
        "side": side,
        "low": is_low_resolution(min_side),
        "thumb": thumbnails.to_text(thumb),
        "hash": f"{own:016x}",
        "mirror": f"{mirror:016x}",
        "colour": _mean_colour(pixels),
    }


def _mean_colour(pixels: Pixels) -> list[float]:
    if pixels.ndim == 2:
        return [round(float(pixels.mean()), 1)] * 3
    rows = pixels.sum(axis=0, dtype=np.uint32)  # rows first: many times faster than over both axes
    return [round(float(c), 1) for c in rows.sum(axis=0) / (pixels.shape[0] * pixels.shape[1])]


@dataclass(frozen=True)
class Pictures:
    """What is kept of n pictures, row by row: thumbnails, coarse vectors, lengths, hashes (own, mirror), colours."""

    thumbs: Thumbs
    coarse: Floats
    norms: Floats  # (n, 2): of the thumbnail and of its halved self
    hashes: NDArray[np.uint64]
    colours: Floats

    def __len__(self) -> int:
        return len(self.thumbs)

    @classmethod
    def of(cls, sketches: Sequence[Mapping[str, Any]], side: int) -> Self:
        thumbs = _thumbs(sketches, side)
        return cls(
            thumbs,
            thumbnails.coarse(thumbs)[0],
            np.stack([thumbnails.inner_norms(kind) for kind in (thumbs, thumbnails.halved(thumbs))], axis=1),
            np.array([[int(s["hash"], 16), int(s["mirror"], 16)] for s in sketches], dtype=np.uint64),
            np.array([s["colour"] for s in sketches], dtype=np.float32),
        )

    def written(self, fresh: Pictures, start: int) -> Pictures:
        """With `fresh` from row `start` on, in a copy of twice the room where there is none left."""
        names = [field.name for field in fields(self)]
        return Pictures(*(_grown(getattr(self, name), getattr(fresh, name), start) for name in names))

    def rows(self, chosen: Any) -> Pictures:
        return Pictures(*(getattr(self, field.name)[chosen] for field in fields(self)))


def _thumbs(sketches: Sequence[Mapping[str, Any]], side: int) -> Thumbs:
    """Those of another side (the campaign's declared side was changed) are brought to this one."""
    if all(sketch["side"] == side for sketch in sketches):
        return thumbnails.from_texts([sketch["thumb"] for sketch in sketches], side)
    own = [thumbnails.from_texts([sketch["thumb"]], int(sketch["side"]))[0] for sketch in sketches]
    return np.stack([t if len(t) == side else np.rint(shrink(t, side)).astype(np.uint8) for t in own])


def _grown(held: NDArray[Any], fresh: NDArray[Any], start: int) -> NDArray[Any]:
    needed = start + len(fresh)
    if needed > len(held):
        room = np.zeros((max(needed, 2 * len(held)), *fresh.shape[1:]), dtype=fresh.dtype)
        room[:start] = held[:start]
        held = room
    held[start:needed] = fresh
    return held


class NearImages:
    """Thumbnails of one campaign, all of one side; grows by `add`, asked by `nearest`. Not for several threads."""

    def __init__(self) -> None:
        self._side = 0
        self._low = False
        self._keys: list[str] = []
        self._pending: list[tuple[str, Mapping[str, Any]]] = []
        self._known: Pictures | None = None  # rows beyond len(_keys) are room

    def add(self, key: str, sketch: Mapping[str, Any]) -> None:
        self._side = self._side or int(sketch["side"])
        self._low = bool(sketch["low"])
        self._pending.append((key, sketch))

    def nearest(self, sketches: Sequence[Mapping[str, Any]]) -> list[Near | None]:
        """The most alike known picture for each, or None for flat pictures and an empty index."""
        self._settle()
        if not sketches or self._known is None or not self._keys:
            return [None] * len(sketches)
        asked = Pictures.of(sketches, self._side)
        return self._search(asked, self._known, self._keys, in_turn=False)

    def nearest_in_turn(
        self, keys: Sequence[str], sketches: Sequence[Mapping[str, Any]]
    ) -> list[Near | None]:
        """As `nearest`, but each also against those before it, as if they had been added one by one."""
        self._settle()
        if not sketches:
            return []
        if not self._keys:
            self._side, self._low = int(sketches[0]["side"]), bool(sketches[0]["low"])
        asked = Pictures.of(sketches, self._side)
        self._known = asked if self._known is None else self._known.written(asked, len(self._keys))
        return self._search(asked, self._known, [*self._keys, *keys], in_turn=True)

    def _settle(self) -> None:
        """Takes in what was added since the last query; flat pictures are left out.

        They are alike in everything: only their exact hashes count.
        """
        if not self._pending:
            return
        pending, self._pending = self._pending, []
        fresh = Pictures.of([sketch for _, sketch in pending], self._side)
        telling = ~_is_flat(fresh.thumbs)
        if telling.any():
            fresh = fresh.rows(telling)
            self._known = fresh if self._known is None else self._known.written(fresh, len(self._keys))
            self._keys += [key for (key, _), keep in zip(pending, telling, strict=True) if keep]

    def _search(
        self, asked: Pictures, known: Pictures, keys: Sequence[str], *, in_turn: bool
    ) -> list[Near | None]:
        """`in_turn`: the asked ones stand at the end of the known ones too, and see only what is before them."""
        before = len(keys) - len(asked) if in_turn else len(keys)
        known = known.rows(slice(0, len(keys)))
        flat = _is_flat(known.thumbs[before:])
        found: list[Near | None] = []
        for start in range(0, len(asked), CHUNK):
            chunk = asked.rows(slice(start, start + CHUNK))
            seen = known.rows(slice(0, before + start + len(chunk))) if in_turn else known
            hidden = _hidden(len(chunk), start, flat[: start + len(chunk)]) if in_turn else None
            found += _Comparison(chunk, seen, self._low, hidden).answers(keys)
        return found


def _is_flat(thumbs: Thumbs) -> NDArray[np.bool_]:
    return np.asarray(thumbs.std(axis=(1, 2)) < FLAT)


def _hidden(count: int, start: int, flat: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which of the batch's pictures the queries from `start` on may not be compared with. (count, batch)."""
    return np.arange(len(flat))[None, :] >= start + np.arange(count)[:, None] | flat[None, :]


@dataclass(frozen=True)
class _Comparison:
    """Some queries beside the known pictures: candidates, their likeness over 18 moves, then the second step."""

    asked: Pictures
    known: Pictures
    low: bool
    hidden: NDArray[np.bool_] | None  # (q, last known): not to be compared

    def answers(self, keys: Sequence[str]) -> list[Near | None]:
        candidates, allowed = self._candidates()
        alike = self._aligned(candidates)
        best = np.where(allowed, alike.max(axis=1), NEVER)
        rows = np.arange(len(best))
        winner = best.argmax(axis=1)
        similarity = best[rows, winner]
        recoded = np.zeros(len(best), dtype=bool)
        if self.low:
            value, index = self._explained(candidates, alike, best)
            recoded = value > similarity
            winner, similarity = np.where(recoded, index, winner), np.where(recoded, value, similarity)
        mirrored = alike[rows, :, winner].argmax(axis=1) >= len(SHIFTS)
        named = candidates[rows, winner]
        flat = _is_flat(self.asked.thumbs)
        return [
            None
            if flat[i] or similarity[i] <= NEVER
            else self._near(keys[named[i]], float(similarity[i]), bool(recoded[i]), bool(mirrored[i]))
            for i in rows
        ]

    def _near(self, key: str, similarity: float, recoded: bool, mirrored: bool) -> Near:
        detail = (", as a re-encoded copy" if recoded else "") + (", mirrored" if mirrored else "")
        return Near(key, min(1.0, similarity), self._threshold, detail)

    @property
    def _threshold(self) -> float:
        return LOW_RESOLUTION_NEAR if self.low else PHOTO_NEAR

    def _candidates(self) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """The known pictures worth a closer look, in their order, and which of them count. Both (q, c)."""
        likely = self._likely()
        if self.hidden is not None:
            likely[:, likely.shape[1] - self.hidden.shape[1] :][self.hidden] = NEVER
        count = min(CANDIDATES, likely.shape[1])
        chosen = np.sort(np.argpartition(likely, -count, axis=1)[:, -count:], axis=1)
        if not self.low:
            chosen = np.concatenate([chosen, self._by_hash(likely, chosen)], axis=1)
        allowed = np.take_along_axis(likely, chosen, axis=1) > NEVER
        allowed &= _same_colour(self.asked.colours[:, None], self.known.colours[chosen])
        return chosen, allowed

    def _likely(self) -> Floats:
        """Coarse likeness of each query to each known picture, over moves and mirrors. (q, known)."""
        moves = tuple(range(VARIANTS)) if self.low else IN_PLACE
        likely, other = np.empty((2, len(self.asked), len(self.known)), dtype=np.float32)
        likely.fill(NEVER)
        for vectors in thumbnails.coarse(self.asked.thumbs, moves):
            np.maximum(likely, np.matmul(vectors, self.known.coarse.T, out=other), out=likely)
        return likely

    def _by_hash(self, likely: Floats, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
        """The nearest by perceptual hash; where they are not near, the first of the chosen again. (q, BY_HASH)."""
        own = self.known.hashes[None, :, 0]
        bits = np.minimum(*(np.bitwise_count(own ^ self.asked.hashes[:, None, side]) for side in (0, 1)))
        bits = np.where(likely > NEVER, bits, 64)
        count = min(BY_HASH, bits.shape[1])
        nearest = np.argpartition(bits, count - 1, axis=1)[:, :count]
        return np.where(np.take_along_axis(bits, nearest, axis=1) <= HASH_NEAR, nearest, chosen[:, :1])

    def _aligned(self, candidates: NDArray[np.intp]) -> Floats:
        """Correlation for each of 18 moves and each candidate, also with either side halved. (q, 18, c)."""
        queries, count = candidates.shape
        probes = thumbnails.probes(self.asked.thumbs).reshape(queries, 3 * VARIANTS, -1)
        pictures = self.known.thumbs[candidates].reshape(queries, count, -1).astype(np.float32)
        pictures -= pictures.mean(axis=2, keepdims=True)  # for precision: the probes' sums are zero anyway
        products = (probes @ pictures.transpose(0, 2, 1)).reshape(queries, 3, VARIANTS, count)
        lengths = np.maximum(self.known.norms[candidates], 1e-6)[:, :, (0, 1, 0)].transpose(0, 2, 1)
        products /= lengths[:, :, None, :]
        return np.asarray(products.max(axis=1))

    def _explained(
        self, candidates: NDArray[np.intp], alike: Floats, best: Floats
    ) -> tuple[Floats, NDArray[np.intp]]:
        """How well one picture is what a usual transformation makes of the other, and which candidate it is. (q,).

        Only the best candidates of the queries that are close, but not close enough to count already.
        """
        order = np.argsort(-best, axis=1, kind="stable")[:, :EXPLAINED]
        top = best.max(axis=1, keepdims=True)
        close = (top < self._threshold) & (np.take_along_axis(best, order, axis=1) >= LOOK_CLOSER)
        value = np.full(order.shape, NEVER, dtype=np.float32)
        query, place = np.nonzero(close)
        if len(query):
            index = order[query, place]
            variants = alike[query, :, index].argmax(axis=1)
            value[close] = self._recoded(query, candidates[query, index], variants)
        first = value.argmax(axis=1)[:, None]
        return np.take_along_axis(value, first, axis=1)[:, 0], np.take_along_axis(order, first, axis=1)[:, 0]

    def _recoded(
        self, query: NDArray[np.intp], known: NDArray[np.intp], variants: NDArray[np.intp]
    ) -> Floats:
        """The best likeness over the transformations, in either direction. (pairs,)."""
        mine, theirs = self.asked.thumbs[query], self.known.thumbs[known]
        sources = np.concatenate(
            [thumbnails.moved(theirs, variants, back=True), thumbnails.moved(mine, variants)]
        )
        targets = np.concatenate([mine, theirs])
        value = np.maximum(
            recoding.explain(sources, targets, QUALITIES), recoding.explain_by_halving(sources, targets)
        )
        unsure = (value >= REFINE) & (value < self._threshold)
        if unsure.any():
            value[unsure] = np.maximum(
                value[unsure], recoding.explain(sources[unsure], targets[unsure], BETWEEN)
            )
        return np.asarray(value.reshape(2, -1).max(axis=0))


def _same_colour(one: Floats, other: Floats) -> NDArray[np.bool_]:
    """Equal up to brightness; a grey copy of a coloured picture counts as the same. (…, 3) each."""
    a, b = (colours - colours.mean(axis=-1, keepdims=True) for colours in (one, other))
    grey = np.minimum(np.abs(a).max(axis=-1), np.abs(b).max(axis=-1)) < 1.0
    return np.asarray(grey | (np.abs(a - b).max(axis=-1) <= COLOUR_NEAR))
