"""Adds white noise to rendered frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, Wrapper
from ludus.errors import InvalidProbability

__all__ = ["AddWhiteNoise", "white_noise"]

_LUMINANCE = np.array([0.2989, 0.5870, 0.1140])


class AddWhiteNoise(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Replace each rendered pixel by noise with the given probability.

    With :class:`AddRenderObservation` around it, the noise appears in the observations. It is drawn
    from the environment's ``np_random``, so rendering advances the random stream.

    Raises:
        InvalidProbability: The probability is not in [0, 1).
    """

    state_fields = ()

    def __init__(
        self,
        env: Env[ObsType, ActType],
        probability_of_noise_per_pixel: float,
        is_noise_grayscale: bool = False,
    ) -> None:
        if not 0 <= probability_of_noise_per_pixel < 1:
            raise InvalidProbability(
                "`probability_of_noise_per_pixel` must lie in the interval [0,1), got "
                f"{probability_of_noise_per_pixel}."
            )
        RecordConstructorArgs.__init__(
            self,
            probability_of_noise_per_pixel=probability_of_noise_per_pixel,
            is_noise_grayscale=is_noise_grayscale,
        )
        super().__init__(env)
        self.probability_of_noise_per_pixel = probability_of_noise_per_pixel
        self.is_noise_grayscale = is_noise_grayscale

    def render(self) -> npt.NDArray[Any]:
        """Return the frame with noise."""
        frame = self.env.render()
        rng = self.np_random
        noise = white_noise(rng, frame.shape, grayscale=self.is_noise_grayscale)
        noisy = rng.random(frame.shape[:2]) < self.probability_of_noise_per_pixel
        return np.where(noisy[..., None], noise, frame)


def white_noise(
    rng: np.random.Generator, shape: tuple[int, ...], *, grayscale: bool
) -> npt.NDArray[Any]:
    """Draw a frame of independent random pixels; grayscale ones have three equal channels."""
    if not grayscale:
        return rng.integers(0, 255, size=shape, dtype=np.uint8)
    parts = rng.integers((0, 0, 0), 255 * _LUMINANCE, size=shape, dtype=np.uint8)
    gray: npt.NDArray[Any] = parts.sum(-1, keepdims=True)
    return gray.repeat(3, -1)
