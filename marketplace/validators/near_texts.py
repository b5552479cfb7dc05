"""Near-duplicate texts: sets of words, found by MinHash bands, verified by their Jaccard similarity.

Single words rather than word triples: dropping one word in ten keeps 99 % of copies above the threshold
against 32 % for triples (docs/validators.md).
"""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marketplace.validators.near import Near

Hashes = NDArray[np.uint32]
SKETCH_WORDS = 256  # bottom-k: exact for texts of up to 256 different words, 1 KB
BANDS, ROWS = 16, 4  # a pair at 0.7 shares a band with probability 1 - (1 - 0.7⁴)¹⁶ = 0.988
LONG_NEAR, SHORT_NEAR = 0.7, 0.9
SHORT_WORDS = 20  # below it one word in common is much: "good phone" and "bad phone" are 0.33 alike
PRIME = np.uint64(4_294_967_311)  # the first prime above 2³²
_generator = np.random.default_rng(20_240_101)
SLOPES = _generator.integers(1, 2**31, BANDS * ROWS, dtype=np.uint64)
OFFSETS = _generator.integers(0, 2**31, BANDS * ROWS, dtype=np.uint64)


def text_sketch(text: str) -> dict[str, Any]:
    """The 256 smallest hashes of the text's different words, as JSON; no word can be read back with certainty."""
    words = set(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))
    digests = (
        hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=4).digest() for word in words
    )
    hashes = np.unique(np.frombuffer(b"".join(digests), dtype="<u4"))[:SKETCH_WORDS]
    return {"v": 1, "words": len(words), "least": base64.b85encode(hashes.tobytes()).decode()}


def _least(sketch: Mapping[str, Any]) -> Hashes:
    return np.frombuffer(base64.b85decode(sketch["least"]), dtype="<u4")


def jaccard(one: Hashes, other: Hashes) -> float:
    """|A ∩ B| / |A ∪ B| from two bottom-k sketches; exact when both are whole.

    Source: Beyer et al., "On synopses for distinct-value estimation under multiset operations", SIGMOD 2007.
    """
    if not len(one) or not len(other):
        return 0.0
    least = np.union1d(one, other)
    if SKETCH_WORDS in (len(one), len(other)):
        least = least[:SKETCH_WORDS]
    both = np.isin(least, one, assume_unique=True) & np.isin(least, other, assume_unique=True)
    return float(both.sum() / len(least))


def _bands(hashes: Hashes) -> list[tuple[int, bytes]]:
    """MinHash signature cut into bands; two texts with an equal band are candidates (Leskovec et al., MMDS ch. 3)."""
    mixed = (hashes.astype(np.uint64)[:, None] * SLOPES + OFFSETS) % PRIME
    signature = mixed.min(axis=0).reshape(BANDS, ROWS)
    return [(band, row.tobytes()) for band, row in enumerate(signature)]


class NearTexts:
    """Sketches of one campaign's texts; grows by `add`, asked by `nearest`."""

    def __init__(self) -> None:
        self._keys: list[str] = []
        self._sketches: list[Hashes] = []
        self._buckets: dict[tuple[int, bytes], list[int]] = defaultdict(list)

    def add(self, key: str, sketch: Mapping[str, Any]) -> None:
        hashes = _least(sketch)
        if not len(hashes):
            return
        for band in _bands(hashes):
            self._buckets[band].append(len(self._keys))
        self._keys.append(key)
        self._sketches.append(hashes)

    def nearest(self, sketches: Sequence[Mapping[str, Any]]) -> list[Near | None]:
        """The most alike known text for each; None where no band is shared (below about 0.4 alike)."""
        return [self._nearest(_least(sketch)) for sketch in sketches]

    def nearest_in_turn(
        self, keys: Sequence[str], sketches: Sequence[Mapping[str, Any]]
    ) -> list[Near | None]:
        """As `nearest`, but each also against those before it, as if they had been added one by one."""
        inner, found = NearTexts(), []
        for key, sketch in zip(keys, sketches, strict=True):
            both = (search._nearest(_least(sketch)) for search in (self, inner))
            found.append(max(filter(None, both), key=lambda near: near.similarity, default=None))
            inner.add(key, sketch)
        return found

    def _nearest(self, hashes: Hashes) -> Near | None:
        if not len(hashes):
            return None
        found = sorted({i for band in _bands(hashes) for i in self._buckets.get(band, ())})
        best = max(((jaccard(hashes, self._sketches[i]), -i) for i in found), default=None)
        if best is None:
            return None
        similarity, index = best[0], -best[1]
        words = min(len(hashes), len(self._sketches[index]))
        threshold = SHORT_NEAR if words < SHORT_WORDS else LONG_NEAR
        return Near(self._keys[index], similarity, threshold, " by their words")
