"""A window for environments that render arrays."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, ClassVar, SupportsFloat

import numpy as np
import numpy.typing as npt

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, Wrapper
from ludus.optional import require

__all__ = ["HumanRendering"]


class HumanRendering(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Show the frame of every reset and step in a window, at the environment's ``render_fps``.

    With a ``_list`` render mode the inner ``render`` is drained: it is left with nothing to
    return to anybody else.

    Raises:
        ValueError: The environment renders no arrays, or its metadata lack ``render_fps``.
    """

    ACCEPTED_RENDER_MODES: ClassVar[list[str]] = [
        "rgb_array",
        "rgb_array_list",
        "depth_array",
        "depth_array_list",
    ]
    state_fields = ()

    def __init__(self, env: Env[ObsType, ActType]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self.screen_size: tuple[int, int] | None = None
        self.window: Any = None
        self.clock: Any = None
        if env.render_mode not in self.ACCEPTED_RENDER_MODES:
            raise ValueError(
                f"HumanRendering shows arrays: env.render_mode must be one of "
                f"{self.ACCEPTED_RENDER_MODES}, got {env.render_mode!r}."
            )
        if "render_fps" not in env.metadata:
            raise ValueError(
                "HumanRendering needs to know how fast to show frames: put 'render_fps' into the "
                f"environment's metadata, which have only {sorted(env.metadata)}."
            )
        modes = env.metadata["render_modes"]
        if "human" not in modes:
            self.metadata = {**deepcopy(env.metadata), "render_modes": [*modes, "human"]}

    @property
    def render_mode(self) -> str:  # type: ignore[override]
        """Always ``"human"``."""
        return "human"

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
        pygame = require("pygame", extra="classic-control")
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
        if self.window is None:
            pygame.display.init()
            self.window = pygame.display.set_mode(size)
        if self.clock is None:
            self.clock = pygame.time.Clock()
        self.window.blit(pygame.surfarray.make_surface(pixels), (0, 0))
        pygame.event.pump()
        self.clock.tick(self.metadata["render_fps"])
        pygame.display.flip()

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
        if self.window is not None:
            pygame = require("pygame", extra="classic-control")
            pygame.display.quit()
            pygame.quit()
            self.window = self.clock = self.screen_size = None
        self.env.close()


def _rgb(frame: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return colours as they are, depths as grays from the nearest to the farthest."""
    if frame.ndim == 3:
        return frame
    depth = frame - frame.min()
    gray = (255 * depth / max(depth.max(), 1e-12)).astype(np.uint8)
    return np.repeat(gray[..., None], 3, axis=-1)
