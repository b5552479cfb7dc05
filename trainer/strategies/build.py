"""From a recipe's name and a release's files to a replica: what volunteers, the backbone and `solo` all do alike."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trainer.errors import ReleaseInvalid
from trainer.recipes import RecipeError, fetch_spec, load_recipe, validate_parameters
from trainer.strategies.sync import SyncReplica


def build_replica(
    recipe_name: str, parameters: Mapping[str, Any], manifest: Mapping[str, Any], train: Sequence[Path]
) -> SyncReplica:
    """`train`: all train files of the manifest. Raises ReleaseInvalid, saying what does not fit."""
    try:
        checked = validate_parameters(fetch_spec(recipe_name), parameters)
        recipe = load_recipe(recipe_name)
        return SyncReplica(recipe, manifest, checked, recipe.decode(train, manifest))
    except (RecipeError, KeyError) as error:
        raise ReleaseInvalid(str(manifest.get("release")), str(error)) from error


def check_version(recipe_name: str, version: str) -> None:
    """Peers with another version of a recipe would train another model. Raises ReleaseInvalid."""
    try:
        ours = fetch_spec(recipe_name).version
    except RecipeError as error:
        raise ReleaseInvalid("?", f"{error}; update this program") from error
    if ours != version:
        raise ReleaseInvalid(
            "?", f"recipe {recipe_name} is wanted in version {version}, here is {ours}; update this program"
        )
