"""The pygame window of both ``HumanRendering`` wrappers."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, ClassVar

import numpy.typing as npt

from ludus.optional import require

__all__ = ["Window"]


class Window:
    """Mix-in that shows frames in a window, at the ``render_fps`` of the metadata."""

    ACCEPTED_RENDER_MODES: ClassVar[list[str]] = [
        "rgb_array",
        "rgb_array_list",
        "depth_array",
        "depth_array_list",
    ]

    window: Any = None
    clock: Any = None
    metadata: dict[str, Any]

    def _prepare_window(self, env: Any) -> None:
        """Check the environment, and add ``"human"`` to the render modes of the metadata.

        Raises:
            ValueError: The environment renders no arrays, or its metadata lack ``render_fps``.
        """
        if env.render_mode not in self.ACCEPTED_RENDER_MODES:
            raise ValueError(
                f"Expected env.render_mode to be one of {self.ACCEPTED_RENDER_MODES} but got "
                f"{env.render_mode!r}; build the environment with one of them."
            )
        if "render_fps" not in env.metadata:
            raise ValueError(
                "The base environment must specify 'render_fps' in its metadata to be used with "
                f"the HumanRendering wrapper; it has {sorted(env.metadata)}."
            )
        modes = env.metadata["render_modes"]
        if "human" not in modes:
            self.metadata = {**deepcopy(env.metadata), "render_modes": [*modes, "human"]}

    @property
    def render_mode(self) -> str:
        """Always ``"human"``."""
        return "human"

    def _show(self, pixels: npt.NDArray[Any]) -> None:
        """Show an image whose first axis is the column, and wait for the next frame's time."""
        pygame = require("pygame", extra="classic-control")
        if self.window is None:
            pygame.display.init()
            self.window = pygame.display.set_mode(pixels.shape[:2])
        if self.clock is None:
            self.clock = pygame.time.Clock()
        self.window.blit(pygame.surfarray.make_surface(pixels), (0, 0))
        pygame.event.pump()
        self.clock.tick(self.metadata["render_fps"])
        pygame.display.flip()

    def _close_window(self) -> None:
        if self.window is not None:
            pygame = require("pygame", extra="classic-control")
            pygame.display.quit()
            pygame.quit()
            self.window = self.clock = None
