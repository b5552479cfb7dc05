"""What recipes exist, what they cost and which parameters they take, as plain data: no torch, no numpy.

The market shows and checks jobs with this file alone; the models themselves are in the modules that `load_recipe`
imports on demand.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from trainer.recipes.errors import RecipeError

Number = int | float


@dataclass(frozen=True)
class Parameter:
    """One hyper-parameter. `low` and `high` are both allowed."""

    name: str
    kind: Literal["int", "float"]
    default: Number
    low: Number
    high: Number
    help: str

    @property
    def allowed(self) -> str:
        """The allowed values in words, for forms and errors."""
        if self.kind == "int":
            return f"a whole number from {self.low:,} to {self.high:,}"
        return f"a number from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class RecipeSpec:
    """`nano_per_sample`: nano credits charged for one training sample, at the scale of one CPU's time for it."""

    name: str
    version: str
    modality: Literal["image", "text", "tabular"]
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    nano_per_sample: int

    def defaults(self) -> dict[str, Number]:
        return {parameter.name: parameter.default for parameter in self.parameters}

    def cost(self, parameters: Mapping[str, Number]) -> int:
        """Nano credits for the whole of a job with these (validated) parameters."""
        return int(parameters["steps"]) * int(parameters["batch_size"]) * self.nano_per_sample


def _parameters(*, steps: int, batch: int, rate: float, own: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    return (
        Parameter("steps", "int", steps, 1, 100_000, "Updates of the model; each uses one batch."),
        Parameter(
            "batch_size", "int", batch, 1, 4_096, "Samples in one update, over all volunteers together."
        ),
        Parameter("learning_rate", "float", rate, 1e-6, 1.0, "Size of a step; lower it if the loss jumps."),
        Parameter("seed", "int", 0, 0, 2**31 - 1, "Fixes the first weights and the order of samples."),
        *own,
    )


_IMAGE = RecipeSpec(
    name="image-cnn-small",
    version="1",
    modality="image",
    title="Small image classifier",
    description="A small convolutional network for grey or colour pictures up to 256 pixels a side. "
    "Learns handwritten digits from 1,500 examples in seconds on one core.",
    parameters=_parameters(
        steps=300,
        batch=64,
        rate=0.004,
        own=(
            Parameter(
                "width",
                "int",
                16,
                4,
                64,
                "Filters in the first layer; the next have twice as many, up to 64.",
            ),
        ),
    ),
    nano_per_sample=1_000_000,
)
_TEXT = RecipeSpec(
    name="text-hashed-bow",
    version="1",
    modality="text",
    title="Bag-of-words text classifier",
    description="Words and pairs of words are hashed into buckets, their vectors averaged, and classified linearly. "
    "Needs no vocabulary and works in any language with spaces.",
    parameters=_parameters(
        steps=300,
        batch=64,
        rate=0.02,
        own=(
            Parameter("buckets", "int", 16_384, 256, 32_768, "Rows of the table that words are hashed into."),
            Parameter("dimensions", "int", 16, 2, 32, "Length of a word's vector."),
        ),
    ),
    nano_per_sample=200_000,
)
_TABULAR = RecipeSpec(
    name="tabular-mlp",
    version="1",
    modality="tabular",
    title="Classifier for table rows",
    description="A two-layer network on standardised numbers and one-hot categories. Missing values are allowed.",
    parameters=_parameters(
        steps=400,
        batch=64,
        rate=0.005,
        own=(Parameter("hidden", "int", 64, 4, 512, "Units in each hidden layer."),),
    ),
    nano_per_sample=100_000,
)

RECIPES: dict[str, RecipeSpec] = {spec.name: spec for spec in (_IMAGE, _TEXT, _TABULAR)}


def fetch_spec(name: str) -> RecipeSpec:
    """Raises: RecipeError, naming the recipes there are."""
    try:
        return RECIPES[name]
    except (KeyError, TypeError):
        raise RecipeError(
            "recipe", f"There is no recipe {name!r}. Choose one of: {', '.join(RECIPES)}."
        ) from None


def validate_parameters(spec: RecipeSpec, given: Mapping[str, Any]) -> dict[str, Number]:
    """All of the recipe's parameters, `given` ones checked and the others at their defaults.

    Raises: RecipeError, with the parameter's name and what it may be.
    """
    if not isinstance(given, Mapping):
        raise RecipeError("parameters", 'Parameters must be an object, such as {"steps": 300}.')
    known = {parameter.name: parameter for parameter in spec.parameters}
    for name in given:
        if name not in known:
            raise RecipeError(
                str(name),
                f"{spec.name} has no parameter {name!r}. It has: {', '.join(known)}. Remove it or correct it.",
            )
    return {name: _checked(known[name], given.get(name, known[name].default)) for name in known}


def _checked(parameter: Parameter, value: Any) -> Number:
    kinds = (int,) if parameter.kind == "int" else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise RecipeError(parameter.name, f"{parameter.name} must be {parameter.allowed}, not {value!r}.")
    if isinstance(value, float) and not math.isfinite(value):
        raise RecipeError(parameter.name, f"{parameter.name} must be {parameter.allowed}, not {value!r}.")
    if not parameter.low <= value <= parameter.high:
        raise RecipeError(parameter.name, f"{parameter.name} is {value}, but must be {parameter.allowed}.")
    return value if parameter.kind == "int" else float(value)
