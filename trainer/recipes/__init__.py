"""Recipes: what a job may train. The declarative part loads at once, without torch; models load by `load_recipe`.

spec = fetch_spec("image-cnn-small"); params = validate_parameters(spec, {"steps": 200})
recipe = load_recipe(spec.name)                                 # imports torch
train = recipe.decode(train_paths, manifest)                    # Dataset(inputs, labels, ids, classes)
model = recipe.build(manifest["schema"], manifest["classes"], params, seed)
recipe.prepare(model, train)                                    # statistics of the train files → model's buffers
optimizer = recipe.optimizer(model, params)
recipe.loss(model, train.inputs[indices], train.labels[indices]).backward()
recipe.evaluate(model, test)                                    # {"accuracy", "loss", "per_class"}
"""

from typing import TYPE_CHECKING

from trainer.recipes.errors import CheckpointError, QuestionError, RecipeError, ShardError
from trainer.recipes.specs import RECIPES, Parameter, RecipeSpec, fetch_spec, validate_parameters

if TYPE_CHECKING:
    from trainer.recipes.recipe import Recipe

__all__ = [
    "RECIPES",
    "CheckpointError",
    "Parameter",
    "QuestionError",
    "RecipeError",
    "RecipeSpec",
    "ShardError",
    "fetch_spec",
    "load_recipe",
    "validate_parameters",
]


def load_recipe(name: str) -> "Recipe":
    """The recipe's torch side. Imports torch (about a second, 200 MB).

    Raises: RecipeError, where there is no such recipe, or torch is not installed.
    """
    fetch_spec(name)
    try:
        from trainer.recipes.registry import IMPLEMENTATIONS
    except ModuleNotFoundError as exc:
        if exc.name not in {"torch", "numpy", "PIL", "safetensors"}:
            raise
        raise RecipeError(
            "recipe", f"{name} needs {exc.name}: install it with: pip install 'hydra[worker]'"
        ) from exc
    return IMPLEMENTATIONS[name]
