"""Collects the frames of all steps."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, SupportsFloat

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, Wrapper

__all__ = ["RenderCollection"]


class RenderCollection(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Render after every reset and step; ``render`` returns the list of frames.

    Args:
        env: The environment; its render mode ``x`` becomes ``x_list``.
        pop_frames: Whether ``render`` empties the list.
        reset_clean: Whether ``reset`` empties the list.

    Raises:
        ValueError: The environment has no render mode, or one that is a list already.
    """

    state_fields = ("frame_list",)

    def __init__(
        self, env: Env[ObsType, ActType], pop_frames: bool = True, reset_clean: bool = True
    ) -> None:
        RecordConstructorArgs.__init__(self, pop_frames=pop_frames, reset_clean=reset_clean)
        super().__init__(env)
        if env.render_mode is None:
            raise ValueError(
                "There are no frames to collect: env.render_mode is None. Build the environment "
                "with one, for example render_mode='rgb_array'."
            )
        if env.render_mode.endswith("_list"):
            raise ValueError(
                f"env.render_mode is '{env.render_mode}': frames are collected already, in a "
                "mode that ends with '_list'."
            )
        self.frame_list: list[Any] = []
        self.pop_frames = pop_frames
        self.reset_clean = reset_clean
        self.metadata = deepcopy(env.metadata)
        modes = self.metadata["render_modes"]
        if self.render_mode not in modes:
            self.metadata["render_modes"] = [*modes, self.render_mode]

    @property
    def render_mode(self) -> str:  # type: ignore[override]
        """The inner render mode with ``_list``."""
        return f"{self.env.render_mode}_list"

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step and keep a frame."""
        result = self.env.step(action)
        self.frame_list.append(self.env.render())
        return result

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset and keep a frame."""
        result = self.env.reset(seed=seed, options=options)
        if self.reset_clean:
            self.frame_list = []
        self.frame_list.append(self.env.render())
        return result

    def render(self) -> list[Any]:
        """Return the frames kept so far."""
        frames = self.frame_list
        if self.pop_frames:
            self.frame_list = []
        return frames
