"""The optimizer of all recipes, and its state as one flat tensor: what a joiner fetches to continue as the others do.

Flat layout: [step, first moments of every parameter in order, second moments in the same order].
"""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from trainer.recipes.errors import CheckpointError

_MOMENTS = ("exp_avg", "exp_avg_sq")


def adam(model: nn.Module, params: Mapping[str, Any]) -> torch.optim.Optimizer:
    """Adam (Kingma & Ba 2015). SGD with momentum diverged on one in three seeds at the rates it needs to keep up."""
    return torch.optim.Adam(model.parameters(), lr=float(params["learning_rate"]))


def flatten_state(optimizer: torch.optim.Optimizer) -> Tensor:
    """Shapes: → [1 + 2 × parameters], float32. Before the first step all is zero, which means the same."""
    step = 0.0
    parts = []
    for moment in _MOMENTS:
        for parameter in _parameters(optimizer):
            state = optimizer.state.get(parameter, {})
            step = float(state.get("step", step))
            value = state.get(moment)
            parts.append((torch.zeros_like(parameter) if value is None else value).detach().reshape(-1))
    return torch.cat([torch.tensor([step]), *parts])


def restore_state(optimizer: torch.optim.Optimizer, flat: Tensor) -> None:
    """The inverse of flatten_state. Raises: CheckpointError, where the length is another model's."""
    wanted = 1 + len(_MOMENTS) * sum(parameter.numel() for parameter in _parameters(optimizer))
    if flat.shape != (wanted,):
        raise CheckpointError(
            "", f"The optimizer's state has shape {tuple(flat.shape)}; this model needs ({wanted},)."
        )
    at = 1
    for moment in _MOMENTS:
        for parameter in _parameters(optimizer):
            part = flat[at : at + parameter.numel()]
            optimizer.state[parameter][moment] = part.reshape(parameter.shape).to(parameter.dtype, copy=True)
            at += parameter.numel()
    for parameter in _parameters(optimizer):
        optimizer.state[parameter]["step"] = flat[0].to(torch.float32, copy=True)


def _parameters(optimizer: torch.optim.Optimizer) -> Iterator[nn.Parameter]:
    for group in optimizer.param_groups:
        yield from group["params"]
