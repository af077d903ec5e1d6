"""Shows the frames of an environment in a window."""

from __future__ import annotations

from typing import Any, SupportsFloat

import numpy as np
import numpy.typing as npt

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, Wrapper
from ludus.wrappers.window import Window

__all__ = ["HumanRendering"]


class HumanRendering(  # type: ignore[misc]
    Window, Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs
):
    """Show the frame of every reset and step in a window, at the environment's ``render_fps``.

    With a ``_list`` render mode this takes all frames that the inner ``render`` has collected.

    Raises:
        ValueError: The environment renders no arrays, or its metadata lack ``render_fps``.
    """

    state_fields = ()

    def __init__(self, env: Env[ObsType, ActType]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self.screen_size: tuple[int, int] | None = None
        self._prepare_window(env)

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step and show the frame."""
        result = self.env.step(action)
        self._render_frame()
        return result

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset and show the frame."""
        result = self.env.reset(seed=seed, options=options)
        self._render_frame()
        return result

    def render(self) -> None:
        """Do nothing: ``reset`` and ``step`` have shown the frame."""

    def _render_frame(self) -> None:
        # Surfaces are indexed by column first.
        pixels = _rgb(self._last_frame()).swapaxes(0, 1)
        size = pixels.shape[:2]
        if self.screen_size is None:
            self.screen_size = size
        if self.screen_size != size:
            raise ValueError(
                f"The frame's size has changed from {self.screen_size} to {size}, but a window "
                "has one size. Close the environment in between."
            )
        self._show(pixels)

    def _last_frame(self) -> npt.NDArray[Any]:
        frame = self.env.render()
        if isinstance(frame, list):
            frame = frame[-1]
        if not isinstance(frame, np.ndarray):
            raise TypeError(
                f"HumanRendering needs a numpy array from env.render(), got {type(frame)}."
            )
        return frame

    def close(self) -> None:
        """Close the window and the environment."""
        self._close_window()
        self.screen_size = None
        self.env.close()


def _rgb(frame: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return colours unchanged, depths as grays from the nearest to the farthest."""
    if frame.ndim == 3:
        return frame
    depth = frame - frame.min()
    gray = (255 * depth / max(depth.max(), 1e-12)).astype(np.uint8)
    return np.repeat(gray[..., None], 3, axis=-1)
