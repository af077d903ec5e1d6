"""Shared code of the mazes: how they are shown."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ludus.envs.grid.maze_drawing import Scene, cell_size, draw, write
from ludus.envs.view import View
from ludus.kernel import KernelEnv

__all__ = ["MazeEnv"]


class MazeEnv(KernelEnv):
    """A maze that is drawn from a :class:`Scene`, which subclasses return.

    Args:
        params: The kernel's params.
        shape: Number of rows and columns to draw.
        render_mode: ``"human"``, ``"rgb_array"`` or ``"ansi"``.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["human", "rgb_array", "ansi"],
        "render_fps": 10,
    }

    def __init__(self, params: Any, shape: tuple[int, int], render_mode: str | None = None) -> None:
        rows, columns = shape
        side = cell_size(rows, columns)
        self._view = View(columns * side, rows * side)
        super().__init__(params, render_mode)

    def scene(self) -> Scene:
        """Return what there is to draw."""
        raise NotImplementedError(f"{type(self).__name__} does not implement scene()")

    def render(self) -> np.ndarray[Any, Any] | str | None:
        """Return the maze as a picture or text, or show it in a window."""
        return self._view.render(
            self,
            draw=lambda canvas: draw(canvas, self.scene()),
            text=lambda: write(self.scene()),
        )

    def close(self) -> None:
        """Close the window."""
        self._view.close()
        super().close()
