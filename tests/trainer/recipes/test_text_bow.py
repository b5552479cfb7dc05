"""text-hashed-bow: stable hashing, dense gradients, and learning from words and from their order."""

import random

import pytest
import torch

from tests.trainer.recipes.releases import jsonl, lines, manifest
from trainer.recipes import QuestionError, RecipeError, load_recipe, validate_parameters
from trainer.recipes.text_bow import MAX_FEATURES, features

RECIPE = load_recipe("text-hashed-bow")
PARAMETERS = validate_parameters(RECIPE.spec, {"buckets": 4096, "dimensions": 8})
GOOD = ["a fine film", "truly great acting", "great fun", "fine work and fun", "acting that is great"]
BAD = ["a dull film", "truly awful acting", "awful bore", "dull work and a bore", "acting that is awful"]


def dataset(tmp_path, items):
    path = tmp_path / "train-0.jsonl"
    path.write_bytes(jsonl(lines("text", items)))
    return RECIPE.decode([path], manifest("text", ["bad", "good"], {}, [(path.name, "train", len(items))]))


@pytest.fixture
def reviews(tmp_path):
    texts = [("good", text) for text in GOOD] + [("bad", text) for text in BAD]
    return dataset(tmp_path, [(str(index), label, text) for index, (label, text) in enumerate(texts)])


def fit(data, steps=40):
    model = RECIPE.build({}, data.classes, PARAMETERS, 0)
    optimizer = RECIPE.optimizer(model, PARAMETERS)
    order = random.Random(0)
    for _ in range(steps):
        batch = order.sample(range(len(data)), min(8, len(data)))
        optimizer.zero_grad()
        RECIPE.loss(model, data.inputs[batch], data.labels[batch]).backward()
        optimizer.step()
    return model


def test_it_learns_which_words_are_which(reviews, tmp_path):
    unseen = dataset(tmp_path, [("x", "good", "what great fun"), ("y", "bad", "an awful dull thing")])
    assert RECIPE.evaluate(fit(reviews), unseen)["accuracy"] == 1.0


def test_it_learns_from_the_order_of_words(tmp_path):
    data = dataset(tmp_path, [("x", "good", "not bad but good"), ("y", "bad", "not good but bad")])
    assert RECIPE.evaluate(fit(data, steps=80), data)["accuracy"] == 1.0


def test_a_hash_is_the_same_in_every_process_and_version():
    assert features("Hello, world") == [907060871, 980881732, 222957958]


def test_case_and_punctuation_do_not_matter_but_words_do():
    assert features("Great FUN!") == features("great, fun")
    assert features("great fun") != features("great film")


def test_a_long_text_is_cut_and_an_empty_one_is_answered(tmp_path):
    assert len(features(" ".join(str(number) for number in range(10_000)))) == MAX_FEATURES
    data = dataset(tmp_path, [("x", "good", ""), ("y", "bad", "…!")])
    assert torch.isfinite(RECIPE.predict(fit(data, steps=1), data.inputs)).all()


def test_padding_does_not_change_an_answer(reviews):
    model = fit(reviews)
    alone = reviews.inputs[:1, : len(features(GOOD[0]))]
    torch.testing.assert_close(RECIPE.predict(model, alone), RECIPE.predict(model, reviews.inputs)[:1])


def test_gradients_are_dense_and_the_model_stays_under_a_million_or_so(reviews):
    model = fit(reviews, steps=1)
    assert all(parameter.grad.layout == torch.strided for parameter in model.parameters())
    largest = validate_parameters(RECIPE.spec, {"buckets": 32_768, "dimensions": 32})
    model = RECIPE.build({}, ["bad", "good"], largest, 0)
    assert sum(parameter.numel() for parameter in model.parameters()) < 1_100_000


def test_questions_come_from_texts_and_from_lines(tmp_path):
    (tmp_path / "one.txt").write_text("great fun")
    (tmp_path / "many.jsonl").write_text('{"text": "dull"}\n{"text": "fine"}\n')
    questions = RECIPE.read_questions([tmp_path / "one.txt", tmp_path / "many.jsonl"], {})
    assert [name.rsplit("/")[-1] for name in questions.names] == ["one.txt", "many.jsonl:1", "many.jsonl:2"]
    assert questions.inputs.shape == (3, 3)


@pytest.mark.parametrize("content", [b'{"text": 3}\n', b"broken\n", b"", b"\xff"])
def test_questions_that_cannot_be_read_name_the_file(tmp_path, content):
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    with pytest.raises(QuestionError, match=r"bad\.jsonl"):
        RECIPE.read_questions([path], {})


def test_a_release_of_pictures_is_refused(tmp_path):
    with pytest.raises(RecipeError, match="holds image items"):
        RECIPE.decode([], manifest("image", ["a", "b"], {}, []))


def test_a_question_that_is_no_text_says_what_is_expected(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\x89PNG\xff")
    with pytest.raises(
        QuestionError, match=r"a\.txt: this is no UTF-8 text; a text checkpoint is asked about \.txt"
    ):
        RECIPE.read_questions([tmp_path / "a.txt"], {})
    with pytest.raises(QuestionError, match=r"no\.txt: cannot be read \(No such file or directory\)$"):
        RECIPE.read_questions([tmp_path / "no.txt"], {})
