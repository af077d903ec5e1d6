"""Kernel environments that show themselves as one picture."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ludus.envs.classic_control.array_state import ArrayStateEnv
from ludus.envs.screen import Screen, warn_no_render_mode

__all__ = ["PictureEnv"]


class PictureEnv(ArrayStateEnv):
    """A kernel environment rendered by drawing its state on a canvas.

    Subclasses set :attr:`screen_width` and :attr:`screen_height` and implement :meth:`draw`.
    """

    screen_width: ClassVar[int]
    screen_height: ClassVar[int]
    _screen: Screen | None = None

    def draw(self, canvas: Any) -> None:
        """Draw the state on a white canvas whose origin is at the bottom left."""
        raise NotImplementedError(f"{type(self).__name__} does not implement draw()")

    def render(self) -> np.ndarray[Any, Any] | None:
        """Return a picture of shape (height, width, 3), or show it in a window."""
        if self.render_mode is None:
            warn_no_render_mode(self)
            return None
        if self._screen is None:
            size = self.screen_width, self.screen_height
            self._screen = Screen(*size, self.render_mode, self.metadata["render_fps"])
        if not self._started:
            return None
        canvas = self._screen.canvas()
        self.draw(canvas)
        return self._screen.show(canvas)

    def close(self) -> None:
        """Close the window."""
        if self._screen is not None:
            self._screen.close()
            self._screen = None
        super().close()
