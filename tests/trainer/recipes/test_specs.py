"""The declarative side of recipes: defaults, refusals that say what to do, and no torch at import."""

import subprocess
import sys

import pytest

from trainer.recipes import RECIPES, RecipeError, fetch_spec, validate_parameters

IMAGE = RECIPES["image-cnn-small"]


@pytest.mark.parametrize("spec", RECIPES.values(), ids=list(RECIPES))
def test_the_defaults_are_valid_and_cost_money(spec):
    parameters = validate_parameters(spec, {})
    assert parameters == spec.defaults()
    assert spec.cost(parameters) == parameters["steps"] * parameters["batch_size"] * spec.nano_per_sample > 0


def test_given_values_replace_defaults_and_both_bounds_are_allowed():
    assert validate_parameters(IMAGE, {"steps": 1})["steps"] == 1
    assert validate_parameters(IMAGE, {"steps": 100_000})["steps"] == 100_000


def test_a_whole_number_serves_as_a_learning_rate():
    rate = validate_parameters(IMAGE, {"learning_rate": 1})["learning_rate"]
    assert isinstance(rate, float) and rate == 1.0


@pytest.mark.parametrize(
    "given, parameter, said",
    [
        ({"step": 1}, "step", "no parameter 'step'. It has: steps, batch_size"),
        ({"steps": 0}, "steps", "from 1 to 100,000"),
        ({"steps": 100_001}, "steps", "from 1 to 100,000"),
        ({"steps": 10**400}, "steps", "from 1 to 100,000"),
        ({"steps": True}, "steps", "a whole number"),
        ({"steps": 2.5}, "steps", "a whole number"),
        ({"steps": "300"}, "steps", "not '300'"),
        ({"steps": None}, "steps", "not None"),
        ({"learning_rate": float("nan")}, "learning_rate", "not nan"),
        ({"learning_rate": 0.0}, "learning_rate", "from 1e-06 to 1"),
        (["steps"], "parameters", "must be an object"),
    ],
)
def test_a_bad_parameter_is_named_with_what_is_allowed(given, parameter, said):
    with pytest.raises(RecipeError) as caught:
        validate_parameters(IMAGE, given)
    assert caught.value.parameter == parameter
    assert said in caught.value.message


def test_an_unknown_recipe_lists_those_there_are():
    with pytest.raises(RecipeError, match="image-cnn-small, text-hashed-bow, tabular-mlp"):
        fetch_spec("resnet")


def test_importing_the_specs_loads_neither_torch_nor_a_network():
    code = (
        "import sys, trainer.recipes; print(sorted({'torch', 'numpy', 'PIL', 'socket'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
