"""Features: same in, same out; nothing learnt from the batch under test; the fall-back without a model says so."""

import subprocess
import sys

import numpy as np
import pytest

from marketplace.validators import embeddings, features
from tests.marketplace.validators.samples import digits, photos

COLUMNS = [{"name": "age", "type": "number"}, {"name": "job", "type": "category"}]
REFERENCE = [{"age": 20.0, "job": "cook"}, {"age": 40.0, "job": "nurse"}, {"age": 60.0, "job": "cook"}]


@pytest.fixture
def _no_model(monkeypatch, tmp_path):
    monkeypatch.setenv("HYDRA_EMBEDDING_MODEL", str(tmp_path / "none.onnx"))


def test_a_picture_has_the_same_features_alone_and_in_company():
    pictures = digits()[0][:5]
    together = features.image_features(pictures, min_side=28)
    assert together.shape == (5, 248)
    assert np.array_equal(together[3:4], features.image_features(pictures[3:4], min_side=28))


def test_equal_digits_are_nearer_than_unequal_ones():
    pictures, labels = digits()
    vectors = features.image_features(pictures[:200], min_side=28)
    likeness = vectors @ vectors.T
    same = np.equal.outer(labels[:200], labels[:200])
    assert likeness[same].mean() > likeness[~same].mean() + 0.1


@pytest.mark.usefixtures("_no_model")
def test_photos_fall_back_to_gradients_where_no_model_is_there():
    assert features.image_features(photos(), min_side=128).shape == (2, 248)
    assert features.features_name("image", 128) == "gradients and colours/1"


@pytest.mark.skipif(not embeddings.is_available(), reason="set-up has not exported the embedding")
def test_photos_are_embedded_where_the_model_is_there():
    first, second, mirrored = features.image_features([*photos(), photos()[0][:, ::-1]], min_side=128)
    assert first.shape == (1280,)
    assert first @ mirrored > 0.9 > first @ second
    assert features.features_name("image", 128) == "efficientnet-lite0/1"


def test_no_pictures_and_no_texts_give_no_rows():
    assert features.image_features([], min_side=28).shape[0] == 0
    assert features.text_features([]).shape[0] == 0


def test_texts_are_counted_without_a_vocabulary():
    one, two = (
        features.text_features(["buy now buy", "something else"]),
        features.text_features(["buy now buy"]),
    )
    assert (one[0] != two[0]).nnz == 0


def test_rows_are_scaled_by_the_reference_only():
    row = {"age": 40.0, "job": "nurse"}
    alone = features.row_features([row], COLUMNS, REFERENCE)
    crowd = features.row_features([row, {"age": 9e9, "job": "king"}], COLUMNS, REFERENCE)
    assert np.array_equal(alone[0], crowd[0])
    assert alone[0, 0] == pytest.approx(0.0)
    assert crowd[1, 0] == 5.0


def test_missing_and_unknown_values_have_their_own_place():
    missing, strange = features.row_features([{}, {"age": "old", "job": "king"}], COLUMNS, REFERENCE)
    assert list(missing) == [0, 0, 1, 0, 0, 1]
    assert list(strange) == [0, 0, 1, 0, 0, 1]
    assert features.row_features([{"age": 1.0}], COLUMNS, []).shape == (1, 4)
    assert features.row_features([{"age": 1.0}], [], []).shape == (1, 1)


def test_validators_load_without_django_and_torch():
    code = (
        "import sys, pkgutil, importlib, marketplace.validators as v\n"
        "for m in pkgutil.iter_modules(v.__path__): importlib.import_module(f'{v.__name__}.{m.name}')\n"
        "print(sorted({'django', 'torch', 'onnxruntime'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
