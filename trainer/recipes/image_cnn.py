"""image-cnn-small: a small convolutional classifier, and how pictures become tensors."""

import io
import math
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageOps, UnidentifiedImageError
from torch import Tensor, nn

from trainer.recipes.errors import QuestionError, RecipeError, why
from trainer.recipes.optimizers import adam
from trainer.recipes.recipe import Questions, Recipe
from trainer.recipes.shards import Sample
from trainer.recipes.specs import RECIPES

MODES = {1: "L", 3: "RGB"}
STAGE_LAYERS = 4
MAX_PIXELS = 40_000_000  # the market's own limit; a larger "PNG" is an attack on memory
EXPECTED = "an image checkpoint is asked about picture files, such as PNG or JPEG"
_UNREADABLE = (OSError, ValueError, SyntaxError, zlib.error, EOFError, Image.DecompressionBombError)


class ImageCnn(nn.Module):
    """3×3 convolutions, each followed by group normalisation and a halving, until the side is at most 4; then linear.

    Shapes: [n, channels, side, side] uint8 → [n, classes]. Group normalisation (Wu & He 2018) looks at one sample at
    a time: with batch statistics or dropout, peers' shares of a batch would not add up to the batch's gradient.
    """

    def __init__(self, channels: int, side: int, classes: int, width: int) -> None:
        super().__init__()
        stages: list[nn.Module] = []
        filters = channels
        while side > 4 or len(stages) < 2 * STAGE_LAYERS:
            norm = nn.GroupNorm(math.gcd(4, width), width)
            stages += [nn.Conv2d(filters, width, 3, padding=1), norm, nn.ReLU(), nn.MaxPool2d(2)]
            filters, side, width = width, side // 2, min(2 * width, 64)
        self.features = nn.Sequential(*stages)
        self.classify = nn.Linear(filters * side * side, classes)

    def forward(self, inputs: Tensor) -> Tensor:
        pixels = inputs.to(self.classify.weight.dtype) / 127.5 - 1.0
        return self.classify(self.features(pixels).flatten(1))


class ImageRecipe(Recipe):
    """Pictures of another size than the schema's are fitted into it whole, on black."""

    spec = RECIPES["image-cnn-small"]

    def optimizer(self, model: nn.Module, params: Mapping[str, Any]) -> torch.optim.Optimizer:
        return adam(model, params)

    def read_questions(self, paths: Sequence[Path], schema: Mapping[str, Any]) -> Questions:
        channels, side = _shape(schema)
        planes = []
        for path in paths:
            try:
                planes.append(_decode(Path(path).read_bytes(), channels, side, None))
            except UnidentifiedImageError as exc:
                raise QuestionError(str(path), f"this is no picture; {EXPECTED}") from exc
            except _UNREADABLE as exc:
                raise QuestionError(
                    str(path), f"cannot be read as a picture ({why(exc)}); {EXPECTED}"
                ) from exc
        return Questions([str(path) for path in paths], torch.from_numpy(np.stack(planes)))

    def _layers(self, schema: Mapping[str, Any], classes: int, params: Mapping[str, Any]) -> nn.Module:
        channels, side = _shape(schema)
        return ImageCnn(channels, side, classes, int(params["width"]))

    def _encode(self, samples: Sequence[Sample], schema: Mapping[str, Any]) -> Tensor:
        channels, side = _shape(schema)
        planes = np.empty((len(samples), channels, side, side), dtype=np.uint8)
        for index, sample in enumerate(samples):
            try:
                planes[index] = _decode(sample.content, channels, side, ["PNG"])
            except UnidentifiedImageError:
                sample.refuse("its picture cannot be decoded (it is no PNG)")
            except _UNREADABLE as exc:
                sample.refuse(f"its picture cannot be decoded ({exc})")
        return torch.from_numpy(planes)


def _shape(schema: Mapping[str, Any]) -> tuple[int, int]:
    channels, side = schema.get("channels"), schema.get("side")
    if channels not in MODES:
        raise RecipeError("schema", f"image-cnn-small reads pictures of 1 or 3 channels, not {channels!r}.")
    if not isinstance(side, int) or isinstance(side, bool) or not 4 <= side <= 256:
        raise RecipeError(
            "schema", f"image-cnn-small reads pictures of 4 to 256 pixels a side, not {side!r}."
        )
    return channels, side


def _decode(data: bytes, channels: int, side: int, formats: list[str] | None) -> np.ndarray:
    """Shapes: → [channels, side, side] uint8."""
    with Image.open(io.BytesIO(data), formats=formats) as image:
        if image.width * image.height > MAX_PIXELS:
            raise ValueError(f"{image.width}×{image.height} pixels are more than {MAX_PIXELS:,}")
        upright = ImageOps.exif_transpose(image).convert(MODES[channels])
    if upright.size != (side, side):
        upright = ImageOps.pad(upright, (side, side), Image.Resampling.BILINEAR, color=None)
    pixels = np.asarray(upright, dtype=np.uint8)
    return pixels[None] if channels == 1 else pixels.transpose(2, 0, 1)
