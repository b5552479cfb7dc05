"""tabular-mlp: statistics from the train files, missing values, categories of the schema, and refusals."""

import random

import pytest
import torch

from tests.trainer.recipes.releases import jsonl, lines, manifest
from trainer.recipes import QuestionError, RecipeError, ShardError, load_recipe, validate_parameters

RECIPE = load_recipe("tabular-mlp")
PARAMETERS = validate_parameters(RECIPE.spec, {"hidden": 16, "learning_rate": 0.02})
SCHEMA = {
    "columns": [
        {"name": "age", "type": "number"},
        {"name": "colour", "type": "category", "values": ["red", "green"]},
    ]
}
CLASSES = ["no", "yes"]


def dataset(tmp_path, rows, schema=SCHEMA):
    """rows: (label, row)."""
    path = tmp_path / "train-0.jsonl"
    items = [(str(index), label, row) for index, (label, row) in enumerate(rows)]
    path.write_bytes(jsonl(lines("row", items)))
    return RECIPE.decode([path], manifest("tabular", CLASSES, schema, [(path.name, "train", len(rows))]))


def random_rows(count, seed):
    """yes: older than 40 and green, or age unknown and red; so that both columns and missing values matter."""
    chance = random.Random(seed)
    rows = []
    for _ in range(count):
        age = None if chance.random() < 0.2 else chance.randint(18, 80)
        colour = chance.choice(["red", "green"])
        yes = colour == "red" if age is None else age > 40 and colour == "green"
        rows.append(("yes" if yes else "no", {"age": age, "colour": colour}))
    return rows


def fit(data, steps):
    model = RECIPE.build(SCHEMA, CLASSES, PARAMETERS, 0)
    RECIPE.prepare(model, data)
    optimizer = RECIPE.optimizer(model, PARAMETERS)
    order = random.Random(0)
    for _ in range(steps):
        batch = order.sample(range(len(data)), 32)
        optimizer.zero_grad()
        RECIPE.loss(model, data.inputs[batch], data.labels[batch]).backward()
        optimizer.step()
    return model


def test_it_learns_a_rule_over_both_columns_and_missing_values(tmp_path):
    model = fit(dataset(tmp_path, random_rows(400, seed=1)), steps=150)
    assert RECIPE.evaluate(model, dataset(tmp_path, random_rows(200, seed=2)))["accuracy"] > 0.95


def test_statistics_are_of_the_known_values_and_survive_large_numbers(tmp_path):
    rows = [("no", {"age": age}) for age in (1_700_000_001, 1_700_000_003, None)] + [
        ("yes", {"colour": "red"})
    ]
    model = RECIPE.build(SCHEMA, CLASSES, PARAMETERS, 0)
    RECIPE.prepare(model, dataset(tmp_path, rows))
    assert model.mean.tolist() == [1_700_000_002.0]
    assert model.deviation.tolist() == [1.0]


def test_a_constant_or_empty_column_does_not_divide_by_zero(tmp_path):
    for age in (7, None):
        data = dataset(tmp_path, [("no", {"age": age}), ("yes", {"age": age})])
        model = RECIPE.build(SCHEMA, CLASSES, PARAMETERS, 0)
        RECIPE.prepare(model, data)
        assert torch.isfinite(RECIPE.predict(model, data.inputs)).all()


def test_a_category_of_which_only_missing_values_were_seen_is_read(tmp_path):
    schema = {"columns": [*SCHEMA["columns"], {"name": "note", "type": "category", "values": []}]}
    data = dataset(tmp_path, [("no", {"age": 1, "note": None}), ("yes", {"age": 2})], schema)
    model = RECIPE.build(schema, CLASSES, PARAMETERS, 0)
    RECIPE.prepare(model, data)
    assert torch.isfinite(RECIPE.predict(model, data.inputs)).all()


def test_an_unprepared_model_refuses_to_answer(tmp_path):
    data = dataset(tmp_path, random_rows(2, seed=0))
    with pytest.raises(RecipeError, match="Call recipe"):
        RECIPE.predict(RECIPE.build(SCHEMA, CLASSES, PARAMETERS, 0), data.inputs)


@pytest.mark.parametrize(
    "row, said",
    [
        ({"age": "old"}, "age is 'old', which is not a finite number"),
        ({"age": True}, "age is True, which is not a finite number"),
        ({"age": [1]}, "not a finite number"),
        ({"colour": "blue"}, "colour is 'blue', which is none of: red, green"),
    ],
)
def test_a_value_outside_the_schema_is_refused_at_its_line(tmp_path, row, said):
    with pytest.raises(ShardError, match=said) as caught:
        dataset(tmp_path, [("no", {"age": 1}), ("no", row)])
    assert (caught.value.file, caught.value.line) == ("train-0.jsonl", 2)


def test_what_the_schema_does_not_name_is_not_seen(tmp_path):
    with_more = dataset(tmp_path, [("no", {"age": 3, "colour": "red", "secret": 99})]).inputs
    assert with_more.tolist() == [[3.0, 0.0]]


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"columns": []},
        {"columns": [{"name": "a", "type": "date"}]},
        {"columns": [{"name": "a", "type": "category"}]},
        {"columns": [{"name": "a", "type": "category", "values": [str(n) for n in range(20_001)]}]},
    ],
)
def test_a_schema_it_cannot_read_is_refused(schema):
    with pytest.raises(RecipeError):
        RECIPE.build(schema, CLASSES, PARAMETERS, 0)


def test_questions_come_from_csv_and_jsonl(tmp_path):
    (tmp_path / "rows.csv").write_text("colour,age\nred,3\ngreen,\n")
    (tmp_path / "rows.jsonl").write_text('{"age": 3, "colour": "red"}\n')
    table = RECIPE.read_questions([tmp_path / "rows.csv"], SCHEMA)
    line = RECIPE.read_questions([tmp_path / "rows.jsonl"], SCHEMA)
    assert table.inputs[0].tolist() == line.inputs[0].tolist() == [3.0, 0.0]
    assert torch.isnan(table.inputs[1, 0])
    assert [name.rsplit("/")[-1] for name in table.names] == ["rows.csv:2", "rows.csv:3"]


@pytest.mark.parametrize(
    "name, content", [("a.csv", "age\nold\n"), ("a.jsonl", "[]\n"), ("a.jsonl", "x"), ("a.csv", "")]
)
def test_questions_that_cannot_be_read_name_the_file(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    with pytest.raises(QuestionError, match=name):
        RECIPE.read_questions([tmp_path / name], SCHEMA)


def test_questions_that_are_no_text_say_what_is_expected(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(
        QuestionError, match=r"a\.csv: this is no UTF-8 text; a tabular checkpoint is asked about \.csv"
    ):
        RECIPE.read_questions([tmp_path / "a.csv"], SCHEMA)
    with pytest.raises(QuestionError, match=r"no\.csv: cannot be read \(No such file or directory\)$"):
        RECIPE.read_questions([tmp_path / "no.csv"], SCHEMA)
