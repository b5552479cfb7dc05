"""Checkpoints: what is saved is what answers later; damaged and foreign files are refused in words."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from tests.trainer.recipes.releases import png
from trainer.recipes import CheckpointError, load_recipe
from trainer.recipes.checkpoint import About, encode, load, save
from trainer.recipes.optimizers import flatten_state, restore_state
from trainer.recipes.predict import main as predict

RECIPE = load_recipe("image-cnn-small")
SCHEMA = {"channels": 1, "side": 8}
ABOUT = About(
    recipe="image-cnn-small",
    recipe_version="1",
    classes=("cat", "dog"),
    schema=SCHEMA,
    parameters=RECIPE.spec.defaults(),
    step=12,
    release="7d6b0a52-6b5c-4f2c-9d31-4a4d5e3a9f10",
    release_sha256="ab" * 32,
)
INPUTS = torch.arange(2 * 64, dtype=torch.uint8).reshape(2, 1, 8, 8)


def model(seed=0):
    return RECIPE.build(SCHEMA, ABOUT.classes, RECIPE.spec.defaults(), seed)


def step(trained, optimizer):
    optimizer.zero_grad()
    RECIPE.loss(trained, INPUTS, torch.tensor([0, 1])).backward()
    optimizer.step()


def test_what_is_saved_is_what_answers_later(tmp_path):
    path = tmp_path / "c.safetensors"
    save(path, model(seed=3), ABOUT)
    loaded = load(path)
    assert loaded.about == ABOUT
    assert torch.equal(loaded.recipe.predict(loaded.model, INPUTS), RECIPE.predict(model(seed=3), INPUTS))
    assert [one.name for one in tmp_path.iterdir()] == ["c.safetensors"]


def test_the_same_model_makes_the_same_bytes_and_another_does_not():
    assert encode(model(), ABOUT) == encode(model(), ABOUT)
    assert encode(model(), ABOUT) != encode(model(seed=1), ABOUT)


def test_buffers_travel_with_the_weights(tmp_path):
    recipe = load_recipe("tabular-mlp")
    schema = {"columns": [{"name": "age", "type": "number"}]}
    made = recipe.build(schema, ["a", "b"], recipe.spec.defaults(), 0)
    made.standardise(torch.tensor([[1.0], [5.0]], dtype=torch.float64))
    about = replace(ABOUT, recipe="tabular-mlp", schema=schema, parameters=recipe.spec.defaults())
    save(tmp_path / "t.safetensors", made, about)
    again = load(tmp_path / "t.safetensors").model
    assert again.mean.tolist() == [3.0] and again.deviation.tolist() == [2.0]


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"recipe": "resnet"}, "no recipe 'resnet'"),
        ({"recipe_version": "9"}, "made by image-cnn-small 9; this is version 1"),
        ({"classes": ("cat", "dog", "cow")}, "not those of image-cnn-small"),
        ({"schema": {"channels": 7}}, "1 or 3 channels"),
        ({"schema": 5}, "does not fit its recipe"),
        ({"parameters": {"width": 10**9}}, "from 4 to 64"),
    ],
)
def test_a_description_that_does_not_fit_is_refused(tmp_path, changes, said):
    path = tmp_path / "c.safetensors"
    path.write_bytes(encode(model(), replace(ABOUT, **changes)))
    with pytest.raises(CheckpointError, match=said):
        load(path)


def test_damaged_and_foreign_files_are_refused(tmp_path):
    path = tmp_path / "c.safetensors"
    with pytest.raises(CheckpointError, match="no such file"):
        load(path)
    path.write_bytes(encode(model(), ABOUT)[:-5])
    with pytest.raises(CheckpointError, match="not a readable safetensors file"):
        load(path)
    save_file({"a": torch.zeros(1)}, path)
    with pytest.raises(CheckpointError, match="not a checkpoint of Hydra's"):
        load(path)


def test_a_failed_save_leaves_the_old_checkpoint(tmp_path):
    path = tmp_path / "c.safetensors"
    save(path, model(), ABOUT)
    before = path.read_bytes()
    with pytest.raises(TypeError):
        save(path, model(), replace(ABOUT, schema={"bad": object()}))
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_a_joiner_with_the_flat_state_continues_in_the_same_bytes():
    here = model()
    optimizer = RECIPE.optimizer(here, RECIPE.spec.defaults())
    assert not flatten_state(optimizer).any()
    step(here, optimizer)
    there = model()
    there.load_state_dict(here.state_dict())
    joined = RECIPE.optimizer(there, RECIPE.spec.defaults())
    restore_state(joined, flatten_state(optimizer).clone())
    for _ in range(3):
        step(here, optimizer)
        step(there, joined)
    assert torch.equal(flatten_state(optimizer), flatten_state(joined))
    assert all(torch.equal(a, b) for a, b in zip(here.parameters(), there.parameters(), strict=True))


def test_a_state_of_another_length_is_refused():
    optimizer = RECIPE.optimizer(model(), RECIPE.spec.defaults())
    with pytest.raises(CheckpointError, match="shape"):
        restore_state(optimizer, torch.zeros(7))


def test_predict_names_each_picture_and_its_likeliest_classes(tmp_path, capsys):
    save(tmp_path / "c.safetensors", model(), ABOUT)
    (tmp_path / "a.png").write_bytes(png(np.zeros((8, 8), np.uint8)))
    assert predict([str(tmp_path / "c.safetensors"), str(tmp_path / "a.png"), "--top", "2", "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)
    assert answer["name"].endswith("a.png")
    assert {one["class"] for one in answer["answers"]} == {"cat", "dog"}
    assert sum(one["p"] for one in answer["answers"]) == pytest.approx(1)


def test_predict_says_which_picture_it_cannot_read(tmp_path, capsys):
    save(tmp_path / "c.safetensors", model(), ABOUT)
    (tmp_path / "a.png").write_bytes(b"no picture")
    assert predict([str(tmp_path / "c.safetensors"), str(tmp_path / "a.png")]) == 1
    assert "a.png: this is no picture" in capsys.readouterr().err
