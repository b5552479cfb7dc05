"""Pictures as arrays for the validators: reading our own re-encoded PNG, grey, and small averaged copies.

Never for bytes from outside: those go through intake's sandbox first.
"""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Pixels = NDArray[np.uint8]  # (height, width) grey or (height, width, 3)
LOW_RESOLUTION = 64  # a side below it: icons and digits, where the rules for photos say nothing


def read_png(png: bytes) -> Pixels:
    """Shapes: (h, w) for grey, (h, w, 3) for colour; uint8."""
    with Image.open(io.BytesIO(png), formats=("PNG",)) as image:
        return np.asarray(image if image.mode == "L" else image.convert("RGB"))


def grey(pixels: Pixels) -> NDArray[np.float32]:
    """Brightness 0..255 (ITU-R BT.601), shape (h, w)."""
    values = np.asarray(pixels, dtype=np.float32)
    if values.ndim == 2:
        return values
    return np.asarray(values @ np.array([0.299, 0.587, 0.114], dtype=np.float32))


def shrink(pixels: Pixels, side: int) -> NDArray[np.float32]:
    """A (side, side) grey copy by area averaging (box filter), whatever the picture's proportions."""
    image = Image.fromarray(pixels).convert("L")
    resample = Image.Resampling.BOX if min(image.size) >= side else Image.Resampling.BILINEAR
    return np.asarray(image.resize((side, side), resample), dtype=np.float32)


def is_low_resolution(min_side: int) -> bool:
    """By what the campaign declares, not by the item: a campaign for digits wants them small."""
    return min_side < LOW_RESOLUTION
