"""S4, S5, S12 and the promises of near-duplicate search, on other pictures than the bench reports."""

import io
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from marketplace.validators.duplicates import (
    ImageIndex,
    Record,
    RowIndex,
    TextIndex,
    image_sketch,
    text_sketch,
)
from marketplace.validators.near_texts import jaccard
from marketplace.validators.pixels import read_png
from tests.marketplace.validators.samples import digits, mails, photos


def jpeg(pixels, quality):
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=quality)
    with Image.open(out) as image:
        return np.asarray(image.convert("L" if pixels.ndim == 2 else "RGB"))


def halved(pixels):
    image = Image.fromarray(pixels)
    return np.asarray(image.resize((image.width // 2, image.height // 2)).resize(image.size))


def moved(pixels):
    out = np.zeros_like(pixels)
    out[1:, :-1] = pixels[:-1, 1:]
    return out


COPIES = {
    "jpeg 30": lambda p: jpeg(p, 30),
    "jpeg 90": lambda p: jpeg(p, 90),
    "half and back": halved,
    "brighter": lambda p: np.clip(p * 1.2, 0, 255).astype(np.uint8),
    "moved": moved,
    "mirrored": lambda p: np.ascontiguousarray(p[:, ::-1]),
}


def records(pictures, prefix, side=28):
    return [Record(f"{prefix}{i}", sketch=image_sketch(p, min_side=side)) for i, p in enumerate(pictures)]


@pytest.fixture(scope="module")
def known():
    return ImageIndex.from_records(records(digits()[0][:600], "k"))


@pytest.mark.parametrize("how", COPIES)
def test_copies_of_digits_are_found_and_named(known, how):
    chosen = range(0, 600, 30)
    found = known.query(records([COPIES[how](digits()[0][i]) for i in chosen], "c"))
    right = [f.data["of"] == f"k{i}" and f.outcome == "suspect" for f, i in zip(found, chosen, strict=True)]
    assert sum(right) >= 19


def test_other_digits_are_not_copies(known):
    found = known.query(records(digits()[0][600:700], "h"))
    assert sum(f.outcome != "ok" for f in found) <= 1
    assert np.mean([f.data["novelty"] for f in found]) > 0.8


def tiles(size=64):
    return [
        p[y : y + size, x : x + size]
        for p in photos()
        for y in range(0, 384, 128)
        for x in range(0, 600, 128)
    ]


@pytest.mark.parametrize("how", ["jpeg 30", "brighter", "mirrored"])
def test_copies_of_photos_are_found_across_sizes(how):
    index = ImageIndex.from_records(records(photos(), "k", 128))
    small = [np.asarray(Image.fromarray(COPIES[how](p)).resize((320, 214))) for p in photos()]
    assert [f.data["of"] for f in index.query(records(small, "c", 128))] == ["k0", "k1"]


def test_two_photos_are_not_copies():
    index = ImageIndex.from_records(records(photos()[:1], "k", 128))
    assert index.query(records(photos()[1:], "c", 128))[0].outcome == "ok"


def test_flat_colours_are_not_near_though_their_hashes_agree():
    white, blue = np.full((360, 640, 3), 255, np.uint8), np.full((360, 640, 3), (0, 0, 254), np.uint8)
    sketches = [image_sketch(p, min_side=128) for p in (white, blue, white)]
    assert sketches[0]["hash"] == sketches[1]["hash"]
    batch = [Record(k, k, content, s) for k, content, s in zip("abc", ("w", "b", "w"), sketches, strict=True)]
    found = ImageIndex.from_records([]).query(batch)
    assert [f.outcome for f in found] == ["ok", "ok", "bad"]
    assert found[2].data["kind"] == "content"
    assert found[2].data["of"] == "a"


def test_colour_tells_equal_shapes_apart():
    shape = np.zeros((64, 64), np.float32)
    shape[16:48, 20:40] = 1
    red, green = (
        np.stack([shape * c for c in colour], -1).astype(np.uint8)
        for colour in ((250, 10, 10), (10, 170, 10))
    )
    index = ImageIndex.from_records(records([red], "k", 64))
    assert index.query(records([green], "g", 64))[0].outcome == "ok"
    assert index.query(records([jpeg(red, 80)], "r", 64))[0].outcome == "suspect"


def test_the_exif_twin_is_near():
    noise = np.random.default_rng(0).integers(0, 255, (64, 128), dtype=np.uint8)
    index = ImageIndex.from_records(records([noise], "k", 64))
    assert index.query(records([jpeg(noise, 95)], "c", 64))[0].data["of"] == "k0"


def test_the_same_bytes_in_one_batch_and_a_label_conflict():
    batch = [Record(str(i), "same", "same", None, label) for i, label in enumerate(["cat", "cat", "dog"])]
    found = TextIndex.from_records([]).query(batch)
    assert [f.data["kind"] for f in found] == [None, "exact", "exact"]
    assert "label_conflict" not in found[1].data
    assert found[2].data["label_conflict"] == ["cat", "dog"]


def test_an_item_is_not_its_own_duplicate():
    record = Record("a", "o", "c", text_sketch("some words here"))
    assert TextIndex.from_records([record]).query([record])[0].outcome == "ok"


def test_an_index_grows_one_by_one_like_all_at_once():
    all_records = records(digits()[0][:40], "k")
    grown = ImageIndex.from_records(all_records[:1])
    for record in all_records[1:]:
        grown.query([record])
        grown.add(record)
    probe = records(digits()[0][40:60], "p")
    assert grown.query(probe) == ImageIndex.from_records(all_records).query(probe)


def test_a_sketch_is_small_json():
    assert len(json.dumps(image_sketch(photos()[0], min_side=128))) < 1_600
    assert len(json.dumps(text_sketch(mails(800)[0][0]))) < 1_600


def test_reworded_mails_are_found_and_other_mails_are_not():
    texts = list(dict.fromkeys(t for t in mails(800)[0] if len(t.split()) > 50))[:200]
    index = TextIndex.from_records(Record(str(i), sketch=text_sketch(t)) for i, t in enumerate(texts[:100]))
    drop = np.random.default_rng(0)
    copies = [" ".join(w for w in t.split() if drop.random() > 0.1) for t in texts[:100]]
    found = index.query([Record(f"c{i}", sketch=text_sketch(t)) for i, t in enumerate(copies)])
    assert sum(f.outcome == "suspect" for f in found) >= 95
    others = index.query([Record(f"o{i}", sketch=text_sketch(t)) for i, t in enumerate(texts[100:])])
    assert sum(f.outcome == "suspect" for f in others) <= 10  # real mailing lists repeat themselves


def test_short_texts_need_nearly_all_words():
    index = TextIndex.from_records([Record("a", sketch=text_sketch("the phone is really good"))])
    assert index.query([Record("b", sketch=text_sketch("the phone is really bad"))])[0].outcome == "ok"
    assert index.query([Record("c", sketch=text_sketch("The phone is REALLY good!"))])[0].outcome == "suspect"


@settings(max_examples=50, deadline=None)
@given(st.sets(st.integers(0, 60), min_size=1), st.sets(st.integers(0, 60), min_size=1))
def test_jaccard_of_whole_sketches_is_exact(one, other):
    sketch = [np.array(sorted(s), dtype=np.uint32) for s in (one, other)]
    assert jaccard(*sketch) == pytest.approx(len(one & other) / len(one | other))


def test_equal_rows_are_counted_only():
    batch = [Record(str(i), content_sha256="same") for i in range(3)]
    found = RowIndex.from_records([Record("k", content_sha256="same")]).query(batch)
    assert [f.data["equal"] for f in found] == [1, 2, 3]
    assert {f.outcome for f in found} == {"ok"}


def test_read_png_gives_grey_or_colour():
    for pixels in (digits()[0][0], photos()[0][:20, :30]):
        out = io.BytesIO()
        Image.fromarray(pixels).save(out, "PNG")
        assert np.array_equal(read_png(out.getvalue()), pixels)
