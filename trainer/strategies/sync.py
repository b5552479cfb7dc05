"""Synchronous SGD: a peer's share of the batch as one mean gradient, an optimizer step with the mean that all agreed.

Peers may have shares of any size: means weighted by samples add up to the mean over the whole batch, exactly what one
process would compute on it, apart from the order of rounding.
"""

import copy
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from trainer.errors import BadMessage, NotFinite, RoundAborted
from trainer.recipes.errors import RecipeError
from trainer.recipes.optimizers import flatten_state, restore_state
from trainer.recipes.recipe import Dataset, Recipe
from trainer.strategies.tensors import pack, unpack
from trainer.swarm.replica import Computed

MICRO_BATCH = 64  # samples in one forward and backward: bounds memory whatever the share
OPTIMIZER = "optimizer"


class SyncReplica:
    """A recipe's model with its optimizer; implements swarm.Replica.

    Gradients accumulate in one flat vector, of which every parameter's `.grad` is a view.
    """

    def __init__(
        self, recipe: Recipe, manifest: Mapping[str, Any], params: Mapping[str, Any], train: Dataset
    ) -> None:
        self.recipe, self.params, self.train = recipe, params, train
        self.model = recipe.build(manifest["schema"], manifest["classes"], params, int(params["seed"]))
        recipe.prepare(self.model, train)
        self.model.train()
        self._optimizer = recipe.optimizer(self.model, params)
        self._parameters = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        self._gradient = torch.zeros(
            sum(parameter.numel() for parameter in self._parameters), dtype=self._parameters[0].dtype
        )
        self._bind_gradients()
        self.step, self.size, self.n_items = 0, self._gradient.numel(), len(train)
        self.dtype = str(self._gradient.dtype).removeprefix("torch.")
        self.import_state(self.export_state())  # so that fresh and fetched optimizers hold the same bytes

    def compute(self, indices: Sequence[int], should_stop: Callable[[], bool]) -> Computed:
        """Mean loss and mean gradient over the items at `indices`, in micro-batches."""
        self._gradient.zero_()
        chosen, total = torch.tensor(indices, dtype=torch.int64), 0.0
        for part in chosen.split(MICRO_BATCH):
            if should_stop():
                raise RoundAborted(self.step, -1, "the backbone planned it anew")
            share = len(part) / len(indices)
            loss = self.recipe.loss(self.model, self.train.inputs[part], self.train.labels[part]) * share
            loss.backward()
            total += loss.item()
        vector = self._gradient.numpy()
        if not math.isfinite(total) or not np.isfinite(vector).all():
            raise NotFinite(self.step, "the loss or its gradient")
        return Computed(vector, total, len(indices))

    def apply(self, mean: np.ndarray) -> None:
        self._gradient.copy_(torch.from_numpy(mean))
        self._optimizer.step()
        self.step += 1

    def export_state(self) -> bytes:
        tensors = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        tensors[OPTIMIZER] = flatten_state(self._optimizer)
        return pack(tensors, {"format": "hydra-state/1", "step": str(self.step)})

    def import_state(self, state: bytes) -> None:
        tensors, metadata = unpack(state)
        weights = {
            name.removeprefix("model."): value for name, value in tensors.items() if name.startswith("model.")
        }
        try:
            step = int(metadata["step"])
            own = self.model.state_dict()
            shapes = {name: (value.shape, value.dtype) for name, value in own.items()}
            if shapes != {name: (value.shape, value.dtype) for name, value in weights.items()}:
                raise ValueError("other tensors than this model's")
            restore_state(self._optimizer, tensors[OPTIMIZER])
        except (KeyError, ValueError, RecipeError) as error:
            raise BadMessage("state", "", f"not a state of this model: {error}") from error
        self.model.load_state_dict(weights)
        self._bind_gradients()
        self.step = step

    def state_digest(self) -> str:
        return hashlib.sha256(self.export_state()).hexdigest()

    def copy_model(self) -> torch.nn.Module:
        """The model as it stands, free of gradients, for evaluating beside the training."""
        twin = copy.deepcopy(self.model)
        twin.zero_grad(set_to_none=True)
        return twin

    def _bind_gradients(self) -> None:
        offset = 0
        for parameter in self._parameters:
            view = self._gradient[offset : offset + parameter.numel()]
            parameter.grad = view.view_as(parameter)
            offset += parameter.numel()
