"""What every recipe offers to the training loop: one class, whose subclasses say what their data and model are.

All randomness comes from the seed through a private generator, so that peers build identical bytes and the caller's
own random numbers stay as they were.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from trainer.recipes.errors import RecipeError
from trainer.recipes.shards import Sample, check_classes, check_manifest, read_samples
from trainer.recipes.specs import RecipeSpec

EVALUATION_BATCH = 512  # bounds memory: activations of one batch, whatever the size of the held-out split


@dataclass(frozen=True)
class Dataset:
    """Decoded shards. Shapes: inputs [n, …] as the recipe's model takes them, labels [n] int64, ids n item ids."""

    inputs: Tensor
    labels: Tensor
    ids: list[str]
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Questions:
    """What predict is asked about: inputs without labels, each with the name to print beside the answer."""

    names: list[str]
    inputs: Tensor


class Recipe(ABC):
    """A stateless object per recipe; `load_recipe` hands them out."""

    spec: RecipeSpec

    def build(
        self, schema: Mapping[str, Any], classes: Sequence[str], params: Mapping[str, Any], seed: int
    ) -> nn.Module:
        """A fresh model, the same bytes for the same arguments. Raises: RecipeError, where the schema does not fit."""
        names = check_classes(classes)
        with torch.random.fork_rng(
            devices=[]
        ):  # layers draw from the global generator before we overwrite them
            model = self._layers(schema, len(names), params)
        initialise(model, torch.Generator().manual_seed(int(seed)))
        return model

    def decode(self, shard_paths: Sequence[Path], manifest: Mapping[str, Any]) -> Dataset:
        """The items of these shards, in the manifest's order. Raises: ShardError naming file:line; RecipeError."""
        check_manifest(manifest, self.spec.modality)
        samples = list(read_samples(shard_paths, manifest))
        if not samples:
            raise RecipeError("release", "These files hold no items.")
        return Dataset(
            inputs=self._encode(samples, manifest["schema"]),
            labels=torch.tensor([sample.label for sample in samples], dtype=torch.int64),
            ids=[sample.id for sample in samples],
            classes=tuple(manifest["classes"]),
        )

    def prepare(self, model: nn.Module, train: Dataset) -> None:  # noqa: B027 - most recipes need nothing
        """Sets what the model takes from the train files themselves (means, deviations) in its buffers.

        To be called once after `build` with the dataset of *all* train files; the same on every peer.
        """

    def loss(self, model: nn.Module, inputs: Tensor, labels: Tensor) -> Tensor:
        """Mean cross-entropy over the samples given; a peer's share weighs by its number of samples."""
        return functional.cross_entropy(model(inputs), labels)

    def predict(self, model: nn.Module, inputs: Tensor) -> Tensor:
        """Shapes: → [n, classes], probabilities. Leaves the model's training mode as it was."""
        was_training = model.training
        model.eval()
        try:
            with torch.inference_mode():
                parts = [functional.softmax(model(part), dim=1) for part in inputs.split(EVALUATION_BATCH)]
        finally:
            model.train(was_training)
        return torch.cat(parts)

    @abstractmethod
    def optimizer(self, model: nn.Module, params: Mapping[str, Any]) -> torch.optim.Optimizer:
        """See `optimizers` for its state as one flat tensor."""

    def evaluate(self, model: nn.Module, dataset: Dataset) -> dict[str, Any]:
        """{"accuracy", "loss", "per_class": {class: {"items", "accuracy"}}}; a class without items has accuracy None."""
        probabilities = self.predict(model, dataset.inputs)
        right = probabilities.argmax(dim=1) == dataset.labels
        chosen = probabilities.gather(1, dataset.labels[:, None]).clamp_min(1e-12)
        per_class: dict[str, dict[str, Any]] = {}
        for index, name in enumerate(dataset.classes):
            mine = right[dataset.labels == index]
            per_class[name] = {
                "items": len(mine),
                "accuracy": mine.double().mean().item() if len(mine) else None,
            }
        return {
            "accuracy": right.double().mean().item(),
            "loss": -chosen.log().double().mean().item(),
            "per_class": per_class,
        }

    @abstractmethod
    def read_questions(self, paths: Sequence[Path], schema: Mapping[str, Any]) -> Questions:
        """Files a user wants answers about. Raises: QuestionError, naming the file."""

    @abstractmethod
    def _layers(self, schema: Mapping[str, Any], classes: int, params: Mapping[str, Any]) -> nn.Module: ...

    @abstractmethod
    def _encode(self, samples: Sequence[Sample], schema: Mapping[str, Any]) -> Tensor: ...


def initialise(model: nn.Module, generator: torch.Generator) -> None:
    """He initialisation (He et al. 2015, eq. 10) of layers, N(0, 0.1) of word vectors, in the order of the modules."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu", generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.EmbeddingBag):
            nn.init.normal_(module.weight, std=0.1, generator=generator)
            if module.padding_idx is not None:
                with torch.no_grad():
                    module.weight[module.padding_idx].zero_()
