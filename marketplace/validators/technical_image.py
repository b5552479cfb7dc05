"""Technical quality of a picture: size, information, exposure, sharpness. Not what it shows.

The rules follow the campaign's declared smallest side: 28 × 28 digits are mostly one tone by nature, so
sharpness and exposure are judged in campaigns for photos only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from marketplace.validators.finding import BAD, OK, SUSPECT, Finding, Outcome, ValidatorInfo
from marketplace.validators.pixels import Pixels, grey, is_low_resolution

VALIDATOR = ValidatorInfo("technical_image", "1")
# Measured on photos of packages (docs/validators.md): sharp ones 147-2,711, blurred by sigma 3 2-9.
SHARP_ENOUGH, HOPELESSLY_BLURRED = 100.0, 20.0
JUDGED_SIDE = 512  # the Laplacian depends on scale, so it is taken at one scale
DARK, BRIGHT = 30.0, 230.0
FLAT_SPREAD = 4.0  # standard deviation below which nothing can be told apart (sensor noise alone is 2-3)
ENTROPY_BITS = 1.0  # of the photo's histogram; a plain logo has about 1.5


def inspect(images: Sequence[Pixels], *, min_side: int) -> list[Finding]:
    """One finding per picture. Shapes: (h, w) or (h, w, 3), uint8. Cost: about 2 ms a megapixel."""
    return [_inspect(pixels, min_side) for pixels in images]


def _inspect(pixels: Pixels, min_side: int) -> Finding:
    height, width = pixels.shape[:2]
    light = grey(pixels)
    measures = measure(light, photo=not is_low_resolution(min_side))
    problems = [*_size_problems(width, height, min_side), *_information_problems(light, pixels, measures)]
    if not problems and not is_low_resolution(min_side):
        problems = [*_exposure_problems(measures), *_sharpness_problems(measures)]
    outcome = BAD if any(p[0] == BAD for p in problems) else SUSPECT if problems else OK
    score = min([p[1] for p in problems], default=1.0)
    return VALIDATOR.finding(
        outcome, score, *(p[2] for p in problems), data={"width": width, "height": height, **measures}
    )


def measure(light: NDArray[np.float32], *, photo: bool) -> dict[str, float]:
    """The numbers behind the words, rounded; `sharpness` is the variance of the Laplacian at one scale."""
    histogram = np.bincount(np.clip(light, 0, 255).astype(np.uint8).ravel(), minlength=256) / light.size
    seen = histogram[histogram > 0]
    result = {
        "mean": float(light.mean()),
        "spread": float(light.std()),
        "entropy_bits": float(-(seen * np.log2(seen)).sum()),
        "white_share": float(histogram[251:].sum()),
        "black_share": float(histogram[:5].sum()),
    }
    if photo:
        result["sharpness"] = sharpness(light)
    return {name: round(value, 3) for name, value in result.items()}


def sharpness(light: NDArray[np.float32]) -> float:
    """Variance of the Laplacian after area-averaging the longer side to 512 pixels (never enlarging).

    Source: Pech-Pacheco et al., "Diatom autofocusing in brightfield microscopy", ICPR 2000 (LAPV).
    """
    step = max(light.shape) / JUDGED_SIDE
    if step > 1:
        light = ndimage.zoom(ndimage.uniform_filter(light, size=round(step)), 1 / step, order=1)
    return float(ndimage.laplace(light).var())


Problem = tuple[Outcome, float, str]


def _size_problems(width: int, height: int, min_side: int) -> list[Problem]:
    side = min(width, height)
    if side >= min_side:
        return []
    return [
        (
            BAD,
            0.2 * side / min_side,
            f"Too small: {width} × {height} pixels; the campaign asks for a side of at least {min_side}.",
        )
    ]


def _information_problems(
    light: NDArray[np.float32], pixels: Pixels, measures: dict[str, float]
) -> list[Problem]:
    # The brightness is a mean of the channels, so it never spreads more than all of them.
    spread = measures["spread"]
    if spread < FLAT_SPREAD and pixels.ndim == 3:
        spread = float(pixels.reshape(-1, 3).std(axis=0).max())
    if spread < FLAT_SPREAD:
        return [(BAD, 0.0, f"Low information: one flat tone (brightness varies by {spread:.1f} of 255).")]
    if measures["entropy_bits"] < ENTROPY_BITS and "sharpness" in measures:
        return [
            (
                SUSPECT,
                0.3,
                f"Low information: {measures['entropy_bits']:.1f} bits per pixel, a photo has more than 4.",
            )
        ]
    return []


def _exposure_problems(measures: dict[str, float]) -> list[Problem]:
    mean = measures["mean"]
    if mean < DARK:
        return [(SUSPECT, 0.2 + 0.3 * mean / DARK, f"Very dark: mean brightness {mean:.0f} of 255.")]
    if mean > BRIGHT or measures["white_share"] > 0.6:
        share = measures["white_share"]
        return [
            (
                SUSPECT,
                0.4,
                f"Over-exposed: mean brightness {mean:.0f} of 255, {share:.0%} of the pixels white.",
            )
        ]
    return []


def _sharpness_problems(measures: dict[str, float]) -> list[Problem]:
    value = measures["sharpness"]
    if value < HOPELESSLY_BLURRED:
        return [
            (
                BAD,
                0.2 * value / HOPELESSLY_BLURRED,
                f"Blurred: sharpness {value:.0f}, photos in focus have 100 and more.",
            )
        ]
    if value < SHARP_ENOUGH:
        return [
            (
                SUSPECT,
                0.2 + 0.7 * value / SHARP_ENOUGH,
                f"Perhaps blurred: sharpness {value:.0f}, photos in focus have 100 and more.",
            )
        ]
    return []
