"""The demo's three campaigns, and what each contributor sends to them."""

import csv
import io
import json
import random
import zipfile
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from config.demo import data
from config.demo.data import Labelled
from config.demo.people import HYD

DIGITS, MAILS, CENSUS = "handwritten-digits", "spam-or-ham", "income-census"
SENT = {"honest digits": 1500, "copies": 80, "flipped digits": 120, "honest mails": 300, "honest rows": 600}
CONSENT = (
    "I made or may share this data, and agree that it is used to train models under the licence named here."
)

# What the sponsor of the census campaign wishes for: shares near the population's, not the sample's.
RACE_TARGETS = {
    "White": 0.6,
    "Black": 0.2,
    "Asian-Pac-Islander": 0.1,
    "Amer-Indian-Eskimo": 0.05,
    "Other": 0.05,
}
DRAFTS: dict[str, dict[str, Any]] = {
    DIGITS: {
        "title": "Handwritten digits",
        "slug": DIGITS,
        "modality": "image",
        "classes": list(data.DIGITS),
        "image_channels": 1,
        "image_min_side": 28,
        "description": "Single handwritten digits on a plain ground, at least 28 pixels a side.",
    },
    MAILS: {
        "title": "Spam or ham",
        "slug": MAILS,
        "modality": "text",
        "classes": list(data.MAIL_CLASSES),
        "description": "E-mails in English with their subject, marked as spam or ham.",
    },
    CENSUS: {
        "title": "Income census",
        "slug": CENSUS,
        "modality": "tabular",
        "classes": list(data.INCOME_CLASSES),
        "label_column": "income",
        "description": "One row per adult. Sex and race are declared so that the balance between groups can be watched.",
        "attributes": [
            {"name": "sex", "values": ["Female", "Male"], "targets": {"Female": 0.5, "Male": 0.5}},
            {"name": "race", "values": ["White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"], "targets": RACE_TARGETS},
        ],
    },
}  # fmt: skip
BUDGET = {DIGITS: 5_000 * HYD, MAILS: 1_000 * HYD, CENSUS: 1_000 * HYD}


def draft(slug: str, census: list[Labelled]) -> dict[str, Any]:
    """The campaign's body for the API, with the census's columns described from its source."""
    terms = {"consent_text": CONSENT, "licence": "CC-BY-4.0", "reward_base_nano": HYD}
    columns = {"columns": describe_columns(census)} if slug == CENSUS else {}
    return {**DRAFTS[slug], **terms, **columns}


def describe_columns(census: list[Labelled]) -> list[dict[str, Any]]:
    numbers = [{"name": name, "type": "number"} for name in data.ADULT_NUMBERS]
    categories = [
        {"name": name, "type": "category", "values": sorted({str(row.content[name]) for row in census})}
        for name in data.ADULT_CATEGORIES
    ]
    return [*numbers, *categories]


@dataclass
class Cast:
    """What everyone sends, drawn from one seed; `truth` is what a person who looks would say."""

    honest_digits: list[Labelled]
    copies: list[tuple[str, bytes, str]]
    flipped_digits: list[Labelled]
    honest_mails: list[Labelled]
    honest_rows: list[Labelled]
    truth: "Truth" = field(repr=False)

    @classmethod
    def draw(cls, seed: int) -> "Cast":
        chance = random.Random(seed)
        digits, mails, census = data.load_digits(), data.load_mails(), data.load_census()
        taken: set[int] = set()
        honest = data.draw(digits, SENT["honest digits"], chance, skip=taken)
        victims = chance.sample(honest, SENT["copies"])
        flipped = data.flip(
            data.draw(digits, SENT["flipped digits"], chance, skip=taken), data.DIGITS, chance
        )
        return cls(
            honest_digits=honest,
            copies=[disguised(number, victim, chance) for number, victim in enumerate(victims)],
            flipped_digits=flipped,
            honest_mails=data.draw(mails, SENT["honest mails"], chance, skip=set()),
            honest_rows=data.draw(census, SENT["honest rows"], chance, skip=set()),
            truth=Truth(digits, mails),
        )


def disguised(number: int, victim: Labelled, chance: random.Random) -> tuple[str, bytes, str]:
    suffix, content = data.disguise(victim.content, chance)
    return f"scan_{number:04d}{suffix}", content, victim.label


def folder_zip(examples: list[Labelled]) -> bytes:
    """A zip with a folder per class."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number, one in enumerate(examples):
            archive.writestr(f"{one.label}/{number:05d}.png", data.encode_png(one.content))
    return buffer.getvalue()


def single_files(examples: list[Labelled]) -> list[tuple[str, bytes, str]]:
    return [
        (f"mine_{number:04d}.png", data.encode_png(one.content), one.label)
        for number, one in enumerate(examples)
    ]


def jsonl(examples: list[Labelled]) -> bytes:
    return "\n".join(json.dumps({"text": one.content, "label": one.label}) for one in examples).encode()


def rows_csv(examples: list[Labelled]) -> bytes:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, [*data.ADULT_NUMBERS, *data.ADULT_CATEGORIES, "income"])
    writer.writeheader()
    for one in examples:
        writer.writerow({**one.content, "income": one.label})
    return buffer.getvalue().encode()


class Truth:
    """What a moderator who looks at the content would say it is: the source's own label of the nearest known example."""

    def __init__(self, digits: list[Labelled], mails: list[Labelled]) -> None:
        self.pixels = np.stack([np.asarray(one.content, np.float32).ravel() for one in digits])
        self.names = [one.label for one in digits]
        self.mails = {" ".join(str(one.content).split()): one.label for one in mails}

    def of_digit(self, image: np.ndarray) -> str:
        distance = ((self.pixels - image.astype(np.float32).ravel()) ** 2).sum(axis=1)
        return self.names[int(distance.argmin())]

    def of_mail(self, text: str) -> str | None:
        return self.mails.get(" ".join(text.split()))
