"""Checkpoints as safetensors: weights and buffers, and in the header what they are (never a pickle, never code).

Everything about the model is one JSON text under one key, so that the same model always makes the same bytes.
"""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save as encode_tensors
from torch import nn

from trainer.recipes import load_recipe
from trainer.recipes.errors import CheckpointError, RecipeError
from trainer.recipes.recipe import Recipe
from trainer.recipes.specs import fetch_spec, validate_parameters

KEY = "hydra-checkpoint/1"


@dataclass(frozen=True)
class About:
    """What a checkpoint is. `release` is the release's id, `release_sha256` the hash of its manifest.json."""

    recipe: str
    recipe_version: str
    classes: tuple[str, ...]
    schema: Mapping[str, Any]
    parameters: Mapping[str, Any]
    step: int
    release: str
    release_sha256: str


@dataclass(frozen=True)
class Checkpoint:
    model: nn.Module
    about: About

    @property
    def recipe(self) -> Recipe:
        return load_recipe(self.about.recipe)


def encode(model: nn.Module, about: About) -> bytes:
    """The file's bytes; the same for the same weights and description."""
    tensors = {name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()}
    return encode_tensors(tensors, {KEY: json.dumps(asdict(about), sort_keys=True, separators=(",", ":"))})


def save(path: Path, model: nn.Module, about: About) -> None:
    """Whole or not at all: written beside `path`, forced to disk, then renamed over it."""
    descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(encode(model, about))
            stream.flush()
            os.fsync(stream.fileno())
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def load(path: Path) -> Checkpoint:
    """The model, built by its recipe and filled with the file's weights, in evaluation mode.

    Raises: CheckpointError, where the file is damaged, of another kind, or its tensors are not this recipe's.
    """
    name = Path(path).name
    try:
        with safe_open(path, framework="pt") as archive:
            metadata = archive.metadata() or {}
            tensors = {key: archive.get_tensor(key) for key in archive.keys()}  # noqa: SIM118 - not a dict
    except FileNotFoundError:
        raise CheckpointError(name, "There is no such file.") from None
    except (SafetensorError, OSError) as exc:
        raise CheckpointError(name, f"This is not a readable safetensors file ({exc}).") from exc
    about = _read_about(name, metadata)
    model = _build(name, about)
    try:
        model.load_state_dict(tensors)
    except RuntimeError as exc:
        raise CheckpointError(name, f"Its tensors are not those of {about.recipe} ({exc}).") from exc
    return Checkpoint(model.eval(), about)


def _read_about(name: str, metadata: Mapping[str, str]) -> About:
    if KEY not in metadata:
        raise CheckpointError(name, "This is a safetensors file, but not a checkpoint of Hydra's.")
    try:
        fields = json.loads(metadata[KEY])
        return About(**{**fields, "classes": tuple(fields["classes"])})
    except (ValueError, TypeError, KeyError) as exc:
        raise CheckpointError(name, f"Its description cannot be read ({exc}).") from exc


def _build(name: str, about: About) -> nn.Module:
    try:
        spec = fetch_spec(about.recipe)
        if spec.version != about.recipe_version:
            raise CheckpointError(
                name, f"It was made by {about.recipe} {about.recipe_version}; this is version {spec.version}."
            )
        parameters = validate_parameters(spec, about.parameters)
        return load_recipe(about.recipe).build(about.schema, about.classes, parameters, seed=0)
    except CheckpointError:
        raise
    except (RecipeError, AttributeError, TypeError) as exc:
        raise CheckpointError(name, f"Its description does not fit its recipe ({exc}).") from exc
