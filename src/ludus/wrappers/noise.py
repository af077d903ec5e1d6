"""White noise in the shape of a frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["white_noise"]

_LUMINANCE = np.array([0.2989, 0.5870, 0.1140])


def white_noise(
    rng: np.random.Generator, shape: tuple[int, ...], *, grayscale: bool
) -> npt.NDArray[Any]:
    """Draw a frame of independent pixels; gray ones have three equal channels."""
    if not grayscale:
        return rng.integers(0, 255, size=shape, dtype=np.uint8)
    parts = rng.integers((0, 0, 0), 255 * _LUMINANCE, size=shape, dtype=np.uint8)
    gray: npt.NDArray[Any] = parts.sum(-1, keepdims=True)
    return gray.repeat(3, -1)
