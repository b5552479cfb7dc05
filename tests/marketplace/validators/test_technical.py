"""Technical quality of pictures, texts and rows: what is named, and the neighbour that passes."""

import numpy as np
import pytest
from PIL import Image, ImageFilter

from marketplace.validators import safety_text, technical_image, technical_row, technical_text
from tests.marketplace.validators.samples import digits, mails, photos


def image(pixels, min_side=128):
    return technical_image.inspect([pixels], min_side=min_side)[0]


def blurred(pixels, sigma):
    return np.asarray(Image.fromarray(pixels).filter(ImageFilter.GaussianBlur(sigma)))


def test_photos_in_focus_pass_and_blurred_ones_do_not():
    for photo in photos():
        assert image(photo).outcome == "ok", image(photo)
        bad = image(blurred(photo, 6))
        assert bad.outcome == "bad"
        assert "Blurred: sharpness" in bad.reasons[0]


def test_dark_and_burnt_photos_are_suspect():
    photo = photos()[0]
    assert "Very dark" in image((photo * 0.12).astype(np.uint8)).reasons[0]
    burnt = image(np.clip(photo.astype(int) * 3 + 120, 0, 255).astype(np.uint8))
    assert "Over-exposed" in burnt.reasons[0]


@pytest.mark.parametrize("colour", [(255, 255, 255), (0, 0, 254)])
def test_flat_colours_are_low_information(colour):
    finding = image(np.full((360, 640, 3), colour, dtype=np.uint8))
    assert finding.outcome == "bad"
    assert "Low information" in finding.reasons[0]


def test_the_declared_smallest_side_counts():
    small = photos()[0][:100, :200]
    assert "Too small: 200 × 100" in image(small).reasons[0]
    assert image(small, min_side=100).outcome == "ok"


def test_digits_are_low_resolution_by_nature():
    outcomes = [f.outcome for f in technical_image.inspect(digits()[0][:200], min_side=28)]
    assert outcomes.count("ok") == 200
    assert image(np.zeros((28, 28), dtype=np.uint8), min_side=28).outcome == "bad"


def text(value):
    return technical_text.inspect([value])[0]


@pytest.mark.parametrize(
    "value, words, outcome",
    [
        ("", "empty", "bad"),
        (" \n ", "empty", "bad"),
        ("...!!!---", "No letter", "bad"),
        ("Ã¼ber GrÃ¶ÃŸe", "Encoding damage: 3", "bad"),
        ("caf\ufffd", "Encoding damage", "bad"),
        ("buy now " * 100, "Mostly repetition", "suspect"),
        ("spam spam spam spam spam eggs spam spam", "makes up 7 of 8", "suspect"),
        ("a\x07b", "control characters", "suspect"),
    ],
)
def test_damaged_texts_are_named(value, words, outcome):
    finding = text(value)
    assert words in finding.reasons[0]
    assert finding.outcome == outcome


@pytest.mark.parametrize(
    "value", ["ok", "Größe, Élan, naïve", "Ça va? Ângela e São Paulo", "👍", "日本語の文", "7"]
)
def test_sound_texts_pass(value):
    assert text(value).outcome == "ok"


def test_real_mails_pass_nearly_all():
    found = technical_text.inspect(mails(800)[0][:200])
    assert sum(f.outcome == "ok" for f in found) >= 190


def test_lines_that_a_whole_submission_shares_are_boilerplate():
    footer = (
        "This message was sent to you by the list server.\nDo not reply to this message, nobody reads it."
    )
    texts = [
        f"{footer}\n{word}"
        for word in ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    ]
    assert all("lines that at least half" in f.reasons[0] for f in technical_text.inspect(texts))
    longer = [f"{t}\n{'a real and quite different story ' * 8}{i}" for i, t in enumerate(texts)]
    assert not any("lines that" in r for f in technical_text.inspect(longer) for r in f.reasons)


COLUMNS = [
    {"name": "age", "type": "number", "low": 0, "high": 120},
    {"name": "job", "type": "category", "values": ["nurse", "cook"]},
]


@pytest.mark.parametrize(
    "row, outcome, words",
    [
        ({"age": 30, "job": "nurse"}, "ok", None),
        ({"age": 130, "job": "nurse"}, "bad", "“age” is 130, above the highest possible 120"),
        ({"age": -1, "job": "nurse"}, "bad", "below the lowest"),
        ({"age": "old", "job": "nurse"}, "bad", "not a number"),
        ({"age": float("nan"), "job": "nurse"}, "bad", "not a number"),
        ({"age": 30, "job": "king"}, "bad", "not one of its 2 declared values"),
        ({"age": None, "job": "nurse"}, "suspect", "1 of 2 values are missing (age)"),
        ({}, "bad", "2 of 2 values are missing"),
    ],
)
def test_rows_against_their_columns(row, outcome, words):
    (finding,) = technical_row.inspect([row], COLUMNS)
    assert finding.outcome == outcome
    assert (words or "") in " ".join(finding.reasons)


def test_without_columns_there_is_not_enough_evidence():
    assert technical_row.inspect([{"a": 1}], [])[0].outcome == "not_enough_evidence"


@pytest.mark.parametrize(
    "value, kind",
    [
        ("write to ada.lovelace@example.org today", "e-mail address"),
        ("call +44 20 7946 0958", "telephone number"),
        ("call (212) 555-0199 now", "telephone number"),
        ("card 4111 1111 1111 1111", "payment card"),
        ("IBAN DE89 3704 0044 0532 0130 00", "IBAN"),
    ],
)
def test_personal_data_is_pointed_at_and_not_repeated(value, kind):
    (finding,) = safety_text.inspect([value])
    assert finding.outcome == "suspect"
    assert finding.direction == "safety"
    assert finding.data["counts"] == {kind: 1}
    assert not any(part in finding.reasons[0] for part in ("ada", "7946", "4111", "3704"))


@pytest.mark.parametrize(
    "value",
    [
        "card 4111 1111 1111 1112",
        "12:30:45 on 2024-01-02",
        "version 1.2.3.4",
        "DE00 3704 0044 0532 0130 00",
        "a @ b",
    ],
)
def test_what_only_looks_like_it_is_left_alone(value):
    assert safety_text.inspect([value])[0].outcome == "ok"
