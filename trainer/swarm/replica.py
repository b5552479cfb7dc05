"""What the swarm needs of a model: gradients as one vector, a step, and a state that can be copied exactly."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np


@dataclass(frozen=True)
class Computed:
    """`vector`: the mean over `samples` items, of the replica's size and dtype. `loss`: the mean over them too."""

    vector: np.ndarray
    loss: float
    samples: int


class Replica(Protocol):
    """Calls come from one thread at a time, and never from the event loop's."""

    step: int
    size: int
    dtype: str
    n_items: int

    def compute(self, indices: Sequence[int], should_stop: Callable[[], bool]) -> Computed:
        """Changes nothing that `state_digest` sees. Raises NotFinite, or RoundAborted once `should_stop` says so."""

    def apply(self, mean: np.ndarray) -> None:
        """One optimizer step with the agreed mean: afterwards `step` is one more."""

    def export_state(self) -> bytes:
        """Parameters, buffers, optimizer state and step; equal states give equal bytes."""

    def import_state(self, state: bytes) -> None:
        """Raises BadMessage for anything that is not a state of this very model; nothing is changed then."""

    def state_digest(self) -> str:
        """SHA-256 over what `export_state` holds."""
