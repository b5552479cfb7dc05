"""Feature vectors as JSON text: 16-bit floats in base 64, so that accepted items need not be decoded again."""

import base64
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def pack(vector: NDArray[np.floating]) -> str:
    """2.7 bytes a number; three decimal digits are plenty for a nearest neighbour or a linear model."""
    return base64.b64encode(np.asarray(vector, dtype=np.float16).tobytes()).decode()


def unpack(packed: Sequence[str]) -> NDArray[np.float32]:
    """Shapes: n texts of one length → (n, d)."""
    raw = b"".join(base64.b64decode(one) for one in packed)
    return np.frombuffer(raw, dtype=np.float16).reshape(len(packed), -1).astype(np.float32)
