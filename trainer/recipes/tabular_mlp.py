"""tabular-mlp: rows as standardised numbers and one-hot categories through two hidden layers."""

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from trainer.recipes.errors import QuestionError, RecipeError, why
from trainer.recipes.optimizers import adam
from trainer.recipes.recipe import Dataset, Questions, Recipe
from trainer.recipes.shards import Sample
from trainer.recipes.specs import RECIPES

MAX_WIDTH = 20_000  # one-hot columns; beyond it a column is an identifier, not a category
FAR = 10.0  # standard deviations at which an outlier stops pulling harder


@dataclass(frozen=True)
class Column:
    """`values`: what a category may be, in the order of its one-hot places; none where only missing ones were seen."""

    name: str
    is_category: bool
    values: tuple[str, ...] = ()


class TabularMlp(nn.Module):
    """Shapes: [n, columns] float64 → [n, classes]. NaN is a missing value; a category is its index in the schema.

    A number becomes its standard score and a flag for "missing"; a category one-hot, with a place for "missing".
    Scores are computed in float64: a column of timestamps has more digits than float32 holds.
    """

    mean: Tensor
    deviation: Tensor
    prepared: Tensor

    def __init__(self, columns: Sequence[Column], classes: int, hidden: int) -> None:
        super().__init__()
        self.numbers = [index for index, column in enumerate(columns) if not column.is_category]
        self.categories = [
            (index, len(column.values)) for index, column in enumerate(columns) if column.values
        ]
        width = 2 * len(self.numbers) + sum(values + 1 for _, values in self.categories)
        if width > MAX_WIDTH:
            raise RecipeError(
                "schema", f"The columns' categories make {width:,} inputs; the limit is {MAX_WIDTH:,}."
            )
        self.register_buffer("mean", torch.zeros(len(self.numbers), dtype=torch.float64))
        self.register_buffer("deviation", torch.ones(len(self.numbers), dtype=torch.float64))
        self.register_buffer("prepared", torch.zeros((), dtype=torch.bool))
        self.layers = nn.Sequential(
            nn.Linear(width, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, classes),
        )

    def forward(self, inputs: Tensor) -> Tensor:
        if not self.prepared:
            raise RecipeError("", "Call recipe.prepare(model, train) before training or asking tabular-mlp.")
        numbers = inputs[:, self.numbers]
        missing = numbers.isnan()
        scores = ((numbers - self.mean) / self.deviation).clamp(-FAR, FAR)
        parts = [scores.masked_fill(missing, 0.0), missing]
        for index, values in self.categories:
            places = inputs[:, index].nan_to_num(nan=float(values)).long()
            parts.append(nn.functional.one_hot(places, values + 1))
        return self.layers(torch.cat([part.float() for part in parts], dim=1))

    def standardise(self, inputs: Tensor) -> None:
        """Mean and deviation of each number column's known values; a constant or empty column keeps deviation 1."""
        numbers = inputs[:, self.numbers]
        known = (~numbers.isnan()).sum(dim=0).clamp_min(1)
        mean = numbers.nansum(dim=0) / known
        deviation = ((numbers - mean) ** 2).nansum(dim=0).div(known).sqrt()
        self.mean.copy_(mean)
        self.deviation.copy_(torch.where(deviation > 0, deviation, 1.0))
        self.prepared.fill_(True)


class TabularRecipe(Recipe):
    """Values outside the schema's columns are not read: the schema says what the model may see."""

    spec = RECIPES["tabular-mlp"]

    def prepare(self, model: nn.Module, train: Dataset) -> None:
        if not isinstance(model, TabularMlp):
            raise TypeError("prepare takes a model built by this recipe")
        model.standardise(train.inputs)

    def optimizer(self, model: nn.Module, params: Mapping[str, Any]) -> torch.optim.Optimizer:
        return adam(model, params)

    def read_questions(self, paths: Sequence[Path], schema: Mapping[str, Any]) -> Questions:
        """A .csv with a header, or a .jsonl with one row object per line."""
        columns = _columns(schema)
        names, rows = [], []
        for path in paths:
            for name, row in _rows(Path(path)):
                names.append(name)
                try:
                    rows.append([_value(column, row.get(column.name)) for column in columns])
                except ValueError as exc:
                    raise QuestionError(name, str(exc)) from exc
        if not rows:
            raise QuestionError(", ".join(str(path) for path in paths), "holds no rows")
        return Questions(names, torch.tensor(rows, dtype=torch.float64))

    def _layers(self, schema: Mapping[str, Any], classes: int, params: Mapping[str, Any]) -> nn.Module:
        return TabularMlp(_columns(schema), classes, int(params["hidden"]))

    def _encode(self, samples: Sequence[Sample], schema: Mapping[str, Any]) -> Tensor:
        columns = _columns(schema)
        rows = []
        for sample in samples:
            try:
                rows.append([_value(column, sample.content.get(column.name)) for column in columns])
            except ValueError as exc:
                sample.refuse(str(exc))
        return torch.tensor(rows, dtype=torch.float64)


def _columns(schema: Mapping[str, Any]) -> list[Column]:
    columns = []
    for entry in schema.get("columns") or []:
        match entry:
            case {"name": str(name), "type": "number"}:
                columns.append(Column(name, is_category=False))
            case {"name": str(name), "type": "category", "values": [*values]}:
                columns.append(Column(name, True, tuple(str(value) for value in values)))
            case _:
                raise RecipeError("schema", f"tabular-mlp cannot read the column {entry!r}.")
    if not columns:
        raise RecipeError("schema", "tabular-mlp needs a schema with at least one column.")
    return columns


def _value(column: Column, value: Any) -> float:
    """NaN for a missing value (null, or an empty cell). Raises: ValueError, in words."""
    if value is None or value == "":
        return math.nan
    if column.is_category:
        try:
            return float(column.values.index(str(value)))
        except ValueError:
            allowed = ", ".join(column.values[:12]) + (" …" if len(column.values) > 12 else "")
            raise ValueError(
                f"{column.name} is {value!r}, which is none of: {allowed or 'no values'}"
            ) from None
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{column.name} is {value!r}, which is not a finite number")
    return number


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            if path.suffix == ".csv":
                table = csv.DictReader(stream)
                for row in table:
                    yield f"{path}:{table.line_num}", row
                return
            for number, line in enumerate(stream, start=1):
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise QuestionError(f"{path}:{number}", "must be an object with the columns' values")
                yield f"{path}:{number}", row.get("row", row)
    except OSError as exc:
        raise QuestionError(str(path), f"cannot be read ({why(exc)})") from exc
    except UnicodeDecodeError as exc:
        raise QuestionError(
            str(path), "this is no UTF-8 text; a tabular checkpoint is asked about .csv or .jsonl files"
        ) from exc
    except (json.JSONDecodeError, csv.Error) as exc:
        raise QuestionError(str(path), f"cannot be read as .csv or .jsonl rows ({exc})") from exc
