"""Shows the frames of all environments of a batch in one window."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.core.constructor_args import RecordConstructorArgs
from ludus.core.types import ActType, ArrayType, ObsType
from ludus.core.vector_env import VectorEnv
from ludus.core.vector_wrapper import VectorWrapper
from ludus.optional import require
from ludus.wrappers.window import Window

__all__ = ["HumanRendering"]

_Pixels = npt.NDArray[np.uint8]


class HumanRendering(  # type: ignore[misc]
    Window, VectorWrapper[ObsType, ActType, ObsType, ActType, ArrayType], RecordConstructorArgs
):
    """Show the frames of every reset and step in a window, at the environment's ``render_fps``.

    Args:
        env: A vector environment that renders RGB arrays.
        screen_size: Width and height of the window; by default those of one frame. The frames
            share it as a grid.

    Raises:
        ValueError: The environment renders no arrays, or its metadata lack ``render_fps``.
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        screen_size: tuple[int, int] | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(self, screen_size=screen_size)
        super().__init__(env)
        self.screen_size = screen_size
        self.scaled_subenv_size: tuple[int, int] | None = None
        self.num_rows: int | None = None
        self.num_cols: int | None = None
        self._prepare_window(env)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset and show the frames."""
        result = self.env.reset(seed=seed, options=options)
        self._show(self._picture())
        return result

    def step(
        self, actions: ActType
    ) -> tuple[ObsType, ArrayType, ArrayType, ArrayType, dict[str, Any]]:
        """Step and show the frames."""
        result = self.env.step(actions)
        self._show(self._picture())
        return result

    def close(self, **kwargs: Any) -> None:
        """Close the window and the environments."""
        self._close_window()
        super().close(**kwargs)

    def _picture(self) -> _Pixels:
        """Return all frames scaled into one picture, indexed by column first like a surface."""
        cv2 = require("cv2", extra="images")
        frames = self._last_frames().swapaxes(1, 2)
        size = frames.shape[1:3]
        if self.screen_size is None:
            self.screen_size = size
        if self.scaled_subenv_size is None or self.num_cols is None:
            self.num_rows, self.num_cols = _grid(self.num_envs, size, self.screen_size)
            scale = min(
                self.screen_size[0] / (self.num_cols * size[0]),
                self.screen_size[1] / (self.num_rows * size[1]),
            )
            self.scaled_subenv_size = (int(size[0] * scale), int(size[1] * scale))
        width, height = self.scaled_subenv_size
        picture: _Pixels = np.zeros((*self.screen_size, 3), dtype=np.uint8)
        for i, frame in enumerate(frames):
            row, column = divmod(i, self.num_cols)
            x, y = column * width, row * height
            picture[x : x + width, y : y + height] = cv2.resize(frame, (height, width))
        return picture

    def _last_frames(self) -> _Pixels:
        rendered = self.env.render() or ()
        # A `_list` render mode gives the frames since the last call.
        frames = [frame[-1] if isinstance(frame, list) else frame for frame in rendered]
        if len(frames) != self.num_envs or any(np.ndim(frame) != 3 for frame in frames):
            raise TypeError(
                f"Expected `env.render()` to return {self.num_envs} numpy arrays of shape (height, "
                f"width, 3), actually returned {[np.shape(frame) for frame in frames]}."
            )
        return np.array(frames, dtype=np.uint8)


def _grid(count: int, frame: tuple[int, ...], screen: tuple[int, ...]) -> tuple[int, int]:
    """Return rows and columns for ``count`` frames, growing along the side with more room."""
    rows = columns = 1
    while rows * columns < count:
        tall, wide = rows * (frame[1] / screen[1]), columns * (frame[0] / screen[0])
        rows, columns = rows + (tall <= wide), columns + (wide <= tall)
    return rows, columns
