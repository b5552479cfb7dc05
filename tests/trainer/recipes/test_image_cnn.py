"""image-cnn-small on real handwritten digits (scikit-learn's 8×8 scans), and on pictures that are none."""

import random

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from tests.trainer.recipes.releases import image_release, lines, manifest, png, write_zip
from trainer.recipes import RECIPES, QuestionError, RecipeError, ShardError, load_recipe, validate_parameters

RECIPE = load_recipe("image-cnn-small")
CLASSES = [str(digit) for digit in range(10)]
SCHEMA = {"channels": 1, "side": 8}
PARAMETERS = validate_parameters(RECIPES["image-cnn-small"], {})


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """(train, test) decoded from shards of 1,400 and 397 real digits."""
    folder = tmp_path_factory.mktemp("digits")
    bunch = load_digits()
    pixels, labels = (bunch.images * 15).astype(np.uint8), [str(digit) for digit in bunch.target]
    train = image_release(folder, "train-0.zip", pixels[:1400], labels[:1400], "train")
    test = image_release(folder, "test-0.zip", pixels[1400:], labels[1400:], "test")
    files = [(train.name, "train", 1400), (test.name, "test", 397)]
    description = manifest("image", CLASSES, SCHEMA, files)
    return RECIPE.decode([train], description), RECIPE.decode([test], description)


def train_for(steps, dataset, seed=0):
    model = RECIPE.build(SCHEMA, CLASSES, PARAMETERS, seed)
    optimizer = RECIPE.optimizer(model, PARAMETERS)
    order = random.Random(seed)
    for _ in range(steps):
        batch = order.sample(range(len(dataset)), 64)
        optimizer.zero_grad()
        RECIPE.loss(model, dataset.inputs[batch], dataset.labels[batch]).backward()
        optimizer.step()
    return model


def test_it_learns_real_digits_in_150_steps(digits):
    train, test = digits
    untrained = RECIPE.evaluate(train_for(0, train), test)["accuracy"]
    measured = RECIPE.evaluate(train_for(150, train), test)
    assert untrained < 0.35
    assert measured["accuracy"] > 0.93
    assert sum(one["items"] for one in measured["per_class"].values()) == 397
    weighted = sum(one["items"] * one["accuracy"] for one in measured["per_class"].values()) / 397
    assert weighted == pytest.approx(measured["accuracy"])


def test_the_same_seed_makes_the_same_bytes_and_leaves_the_callers_chance_alone(digits):
    train, _ = digits
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first, second, other = train_for(3, train), train_for(3, train), train_for(3, train, seed=1)
    assert torch.equal(torch.rand(3), expected)
    for one, same in zip(first.state_dict().values(), second.state_dict().values(), strict=True):
        assert torch.equal(one, same)
    assert not torch.equal(first.classify.weight, other.classify.weight)


def test_shares_of_a_batch_add_up_to_the_batchs_gradient(digits):
    """Volunteers each see a part of the batch: the weighted mean of their gradients must be the whole's."""
    train, _ = digits

    def gradient(first, last):
        model = train_for(0, train).double()
        RECIPE.loss(model, train.inputs[first:last], train.labels[first:last]).backward()
        return torch.cat([parameter.grad.reshape(-1) for parameter in model.parameters()])

    torch.testing.assert_close(20 / 32 * gradient(0, 20) + 12 / 32 * gradient(20, 32), gradient(0, 32))


def test_pixels_survive_the_shard(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (3, 8, 8), dtype=np.uint8)
    path = image_release(tmp_path, "train-0.zip", pixels, ["1", "2", "1"], "train")
    dataset = RECIPE.decode([path], manifest("image", CLASSES, SCHEMA, [(path.name, "train", 3)]))
    assert dataset.inputs.shape == (3, 1, 8, 8) and dataset.inputs.dtype == torch.uint8
    assert torch.equal(dataset.inputs[:, 0], torch.from_numpy(pixels))
    assert dataset.labels.tolist() == [1, 2, 1]
    assert dataset.ids == ["train-00000", "train-00001", "train-00002"]


def test_a_colour_picture_of_another_size_is_fitted(tmp_path):
    pixels = np.full((10, 20, 3), (200, 100, 50), dtype=np.uint8)
    entries = lines("file", [("a", "1", "a.png")])
    path = write_zip(tmp_path / "train-0.zip", entries, {"a.png": png(pixels)})
    dataset = RECIPE.decode(
        [path], manifest("image", CLASSES, {"channels": 3, "side": 16}, [(path.name, "train", 1)])
    )
    assert dataset.inputs.shape == (1, 3, 16, 16)
    assert dataset.inputs[0, :, 8, 8].tolist() == [200, 100, 50]
    assert dataset.inputs[0, :, 0, 8].tolist() == [0, 0, 0]


@pytest.mark.parametrize("picture", [b"", b"GIF89a", png(np.zeros((8, 8), np.uint8))[:40]])
def test_a_picture_that_cannot_be_decoded_is_refused_at_its_line(tmp_path, picture):
    good = png(np.zeros((8, 8), np.uint8))
    entries = lines("file", [("a", "1", "a.png"), ("b", "1", "b.png")])
    path = write_zip(tmp_path / "train-0.zip", entries, {"a.png": good, "b.png": picture})
    with pytest.raises(
        ShardError, match=r"^train-0\.zip/items\.jsonl:2: its picture cannot be decoded"
    ) as refused:
        RECIPE.decode([path], manifest("image", CLASSES, SCHEMA, [(path.name, "train", 2)]))
    assert "object at 0x" not in str(refused.value)


def test_a_question_that_is_no_picture_names_the_file_and_what_is_expected(tmp_path):
    (tmp_path / "a.png").write_bytes(png(np.zeros((8, 8), np.uint8)))
    (tmp_path / "notes.txt").write_text("not a picture")
    assert RECIPE.read_questions([tmp_path / "a.png"], SCHEMA).inputs.shape == (1, 1, 8, 8)
    expected = "an image checkpoint is asked about picture files, such as PNG or JPEG"
    for name, why in (
        ("notes.txt", "this is no picture"),
        ("no.png", "cannot be read as a picture (No such file or directory)"),
    ):
        with pytest.raises(QuestionError) as refused:
            RECIPE.read_questions([tmp_path / "a.png", tmp_path / name], SCHEMA)
        assert str(refused.value) == f"{tmp_path / name}: {why}; {expected}"


@pytest.mark.parametrize(
    "schema", [{"channels": 2, "side": 8}, {"channels": 1}, {"channels": 1, "side": 4000}, {}]
)
def test_a_schema_it_cannot_read_is_refused(schema):
    with pytest.raises(RecipeError, match="image-cnn-small reads pictures of"):
        RECIPE.build(schema, CLASSES, PARAMETERS, seed=0)


@pytest.mark.parametrize("side, channels", [(4, 1), (28, 1), (33, 3), (256, 3)])
def test_any_side_within_the_limits_builds_and_answers(side, channels):
    model = RECIPE.build({"channels": channels, "side": side}, ["a", "b"], PARAMETERS, seed=0)
    probabilities = RECIPE.predict(model, torch.zeros(2, channels, side, side, dtype=torch.uint8))
    assert probabilities.shape == (2, 2)
    torch.testing.assert_close(probabilities.sum(dim=1), torch.ones(2))
