"""Hydra's training network. Names are exported lazily: importing this package loads neither torch nor sockets."""

from importlib import import_module
from typing import Any

_HOMES = {
    "RoundRecord": "trainer.wire.records",
    "verify_record": "trainer.wire.records",
    "batch_indices": "trainer.wire.sampling",
    "Identity": "trainer.identity",
    "TrainerError": "trainer.errors",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'trainer' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
