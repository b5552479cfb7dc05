"""One process trains a recipe on a release's files: the same sampler, batch and seed as the network, for comparison."""

import json
from pathlib import Path
from typing import Any

from trainer.errors import ReleaseInvalid
from trainer.recipes import fetch_spec, validate_parameters
from trainer.wire.manifest import parse_files
from trainer.wire.sampling import batch_indices


def train_solo(release_dir: Path, recipe_name: str, params: dict[str, Any]) -> dict[str, Any]:
    """{"accuracy", "loss", "steps"} on the held-out split. Raises ReleaseInvalid, RecipeError, NotFinite."""
    from trainer.strategies.build import build_replica

    manifest = read_manifest(release_dir)
    params = validate_parameters(fetch_spec(recipe_name), params)
    paths = {
        role: [release_dir / file.name for file in parse_files(manifest, role)] for role in ("train", "test")
    }
    replica = build_replica(recipe_name, params, manifest, paths["train"])
    for step in range(int(params["steps"])):
        indices = batch_indices(int(params["seed"]), replica.n_items, step, int(params["batch_size"]))
        replica.apply(replica.compute(indices, lambda: False).vector)
    measured = replica.recipe.evaluate(replica.model, replica.recipe.decode(paths["test"], manifest))
    return {"accuracy": measured["accuracy"], "loss": measured["loss"], "steps": replica.step}


def read_manifest(release_dir: Path) -> dict[str, Any]:
    """Raises ReleaseInvalid."""
    path = release_dir / "manifest.json"
    try:
        return json.loads(path.read_text())
    except FileNotFoundError as error:
        raise ReleaseInvalid(str(release_dir), "there is no manifest.json in it") from error
    except ValueError as error:
        raise ReleaseInvalid(str(release_dir), f"manifest.json is not JSON: {error}") from error
