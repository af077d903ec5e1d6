"""Covers rendered frames with patches of noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, Wrapper
from ludus.wrappers.add_white_noise import white_noise

__all__ = ["ObstructView"]


class ObstructView(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Cover rendered frames with square patches of noise at random places.

    As many patches are placed as would cover ``obstructed_pixels_ratio`` of the frame if none
    overlapped. They are drawn from the environment's ``np_random``, so rendering advances the
    random stream.

    Raises:
        ValueError: The ratio is not in [0, 1), or the width is below 1.
    """

    state_fields = ()

    def __init__(
        self,
        env: Env[ObsType, ActType],
        obstructed_pixels_ratio: float,
        obstruction_width: int,
        is_noise_grayscale: bool = False,
    ) -> None:
        if not 0 <= obstructed_pixels_ratio < 1:
            raise ValueError(
                "`obstructed_pixels_ratio` must lie in the interval [0,1), got "
                f"{obstructed_pixels_ratio}."
            )
        if obstruction_width < 1:
            raise ValueError(
                f"`obstruction_width` must be at least 1 pixel, got {obstruction_width}."
            )
        RecordConstructorArgs.__init__(
            self,
            obstructed_pixels_ratio=obstructed_pixels_ratio,
            obstruction_width=obstruction_width,
            is_noise_grayscale=is_noise_grayscale,
        )
        super().__init__(env)
        self.obstruction_centers_ratio = obstructed_pixels_ratio / obstruction_width**2
        self.obstruction_width = obstruction_width
        self.is_noise_grayscale = is_noise_grayscale

    def render(self) -> npt.NDArray[Any]:
        """Return the frame with patches."""
        frame = self.env.render()
        height, width = frame.shape[:2]
        rng = self.np_random
        patches = int(height * width * self.obstruction_centers_ratio)
        centers = rng.integers(0, height * width, patches)
        covered = self._covered(centers, height, width)
        noise = white_noise(rng, frame.shape, grayscale=self.is_noise_grayscale)
        return np.where(covered[..., None], noise, frame)

    def _covered(
        self, centers: npt.NDArray[np.int64], height: int, width: int
    ) -> npt.NDArray[np.bool_]:
        """Return the mask of covered pixels, from cumulative sums over the patches' corners."""
        before = self.obstruction_width // 2
        after = self.obstruction_width - before
        rows, columns = np.divmod(centers, width)
        top, bottom = np.maximum(rows - before, 0), np.minimum(rows + after, height)
        left, right = np.maximum(columns - before, 0), np.minimum(columns + after, width)
        corners = np.zeros((height + 1, width + 1), dtype=np.int64)
        np.add.at(corners, (top, left), 1)
        np.add.at(corners, (bottom, left), -1)
        np.add.at(corners, (top, right), -1)
        np.add.at(corners, (bottom, right), 1)
        depth: npt.NDArray[np.int64] = corners.cumsum(0).cumsum(1)
        return depth[:height, :width] > 0
