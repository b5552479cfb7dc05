"""Batches answer what single questions answer, and the search's arithmetic is Pillow's and the standard library's."""

import base64
import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from marketplace.validators import recoding, thumbnails
from marketplace.validators.duplicates import ImageIndex, Record, image_sketch
from marketplace.validators.near_images import NearImages
from tests.marketplace.validators.samples import digits, photos

R = Image.Resampling


def jpeg(pixels, quality):
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=quality)
    with Image.open(out) as image:
        return np.asarray(image)


def sketches(pictures, side=28):
    return [image_sketch(p, min_side=side) for p in pictures]


def one_by_one(known, batch):
    """As it would be if each item of the batch were added before the next one is asked for."""
    search, found = NearImages(), []
    for key, sketch in known:
        search.add(key, sketch)
    for key, sketch in batch:
        found += search.nearest([sketch])
        search.add(key, sketch)
    return found


def rounded(found):
    return [near and replace(near, similarity=round(near.similarity, 5)) for near in found]


@pytest.mark.parametrize("known_count", [0, 5, 60])
def test_a_batch_answers_like_single_questions(known_count):
    flat = np.full((28, 28), 9, np.uint8)
    originals = digits()[0][: known_count + 70]
    copies = [jpeg(p, 60) for p in originals[::9]] + [p[:, ::-1] for p in originals[::11]]
    named = [(f"n{i}", s) for i, s in enumerate(sketches([*originals, flat, *copies, flat]))]
    known, batch = named[:known_count], named[known_count:]
    search = NearImages()
    for key, sketch in known:
        search.add(key, sketch)
    keys, asked = zip(*batch, strict=True)
    found = search.nearest_in_turn(keys, asked)
    assert rounded(found) == rounded(one_by_one(known, batch))
    assert sum(n is not None and n.similarity >= n.threshold for n in found) >= len(copies) - 2


def test_a_batch_of_photos_answers_like_single_questions():
    tiles = [p[y : y + 80, x : x + 80] for p in photos() for y in (0, 120, 240) for x in range(0, 560, 80)]
    named = [(f"n{i}", s) for i, s in enumerate(sketches([*tiles, *(jpeg(t, 50) for t in tiles[::4])], 128))]
    keys, asked = zip(*named, strict=True)
    assert rounded(NearImages().nearest_in_turn(keys, asked)) == rounded(one_by_one([], named))


def test_a_question_leaves_nothing_behind():
    search, asked = NearImages(), sketches(digits()[0][:40])
    search.nearest_in_turn([str(i) for i in range(40)], asked)
    assert search.nearest(asked) == [None] * 40
    search.add("only", asked[0])
    assert {near.key for near in search.nearest(asked)} == {"only"}


def test_only_earlier_items_of_a_batch_are_named():
    pixels = digits()[0][0]
    records = [Record(k, k, k, s) for k, s in zip("ab", sketches([jpeg(pixels, 40), pixels]), strict=True)]
    found = ImageIndex.from_records([]).query(records)
    assert [f.outcome for f in found] == ["ok", "suspect"]
    assert found[1].data["of"] == "a"


def test_a_sketch_of_another_side_is_compared_too():
    search = NearImages()
    for i, sketch in enumerate(sketches(digits()[0][:20])):
        search.add(str(i), sketch)
    smaller = image_sketch(digits()[0][7], min_side=24)
    assert smaller["side"] == 24
    assert search.nearest([smaller])[0].key == "7"


@pytest.mark.parametrize("quality", [30, 50, 75, 90])
def test_jpeg_is_what_pillow_makes(quality):
    pictures = np.stack(digits()[0][:50])
    ours = recoding.from_blocks(recoding.through_jpeg(recoding.Spectrum.of(pictures), quality), 28) + 128
    theirs = np.stack([jpeg(p, quality) for p in pictures]).astype(np.float32)
    assert (
        np.mean(np.abs(ours - theirs) > 1) < 0.01
    )  # a coefficient on the edge of a step may fall either way
    other = np.stack([jpeg(p, quality - 5) for p in pictures]).astype(np.float32)
    assert np.mean(np.abs(ours - other) > 1) > 0.1


PILLOW = [(R.BICUBIC, R.BICUBIC), (R.LANCZOS, R.LANCZOS), (R.BILINEAR, R.NEAREST)]


@pytest.mark.parametrize("number", range(len(PILLOW)))
def test_halving_is_what_pillow_makes(number):
    down, up = PILLOW[number]
    pictures = digits()[0][:50]
    ours = recoding.through_half(np.stack(pictures), *recoding.HALVINGS[number])
    theirs = [np.asarray(Image.fromarray(p).resize((14, 14), down).resize((28, 28), up)) for p in pictures]
    apart = np.abs(ours - np.stack(theirs).astype(np.float32))
    assert apart.max() <= 2  # Pillow calculates in fixed point
    assert np.mean(apart > 0) < 0.01


def test_text_is_base_85_and_comes_back():
    pictures = digits()[0][:5]
    texts = [thumbnails.to_text(p) for p in pictures]
    assert texts == [base64.b85encode(p.tobytes()).decode() for p in pictures]
    assert np.array_equal(thumbnails.from_texts(texts, 28), np.stack(pictures))


def test_moved_back_undoes_a_move():
    pictures, variants = np.stack(digits()[0][:18]), np.arange(18)
    there = thumbnails.moved(pictures, variants)
    assert np.array_equal(thumbnails.moved(there, variants, back=True), pictures)
    assert not np.array_equal(there, pictures)
