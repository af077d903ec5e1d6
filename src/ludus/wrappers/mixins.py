"""Mix-ins of the wrappers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from copy import deepcopy
from typing import Any, ClassVar, TypeVar

import numpy.typing as npt

from ludus.core import State
from ludus.core.state import copy_plain
from ludus.errors import StateError
from ludus.optional import require

__all__ = [
    "FreezableStatistics",
    "FunctionInPlace",
    "SavesObjects",
    "Window",
    "calls_func",
    "take_fields",
]

Method = TypeVar("Method", bound=Callable[..., Any])


def calls_func(method: Method) -> Method:
    """Mark a method that only calls ``self.func``."""
    method.calls_func = True  # type: ignore[attr-defined]
    return method


class FunctionInPlace:
    """Mix-in that replaces a method by ``func``, which saves a call per step.

    A method that a subclass overrides is not replaced.
    """

    calling_method: ClassVar[str]
    """The name of the method, which is marked by :func:`calls_func`."""

    _func: Callable[[Any], Any]

    @property
    def func(self) -> Callable[[Any], Any]:
        """The function; assign to change it."""
        return self._func

    @func.setter
    def func(self, func: Callable[[Any], Any]) -> None:
        self._func = func
        name = self.calling_method
        if hasattr(getattr(type(self), name), "calls_func"):
            setattr(self, name, func)


class SavesObjects:
    """Mix-in that adds deques, running statistics and required values to the saved state."""

    saved_objects: ClassVar[tuple[str, ...]] = ()
    """Names of the attributes; unlike those in ``state_fields`` they must be in a loaded state."""

    def _save_state(self) -> State:
        fields: State = super()._save_state()  # type: ignore[misc]
        for name in self.saved_objects:
            value = getattr(self, name)
            if hasattr(value, "get_state"):
                fields[name] = value.get_state()
            else:
                fields[name] = copy_plain(list(value) if isinstance(value, deque) else value, name)
        return fields

    def _load_state(self, fields: State) -> None:
        saved, rest = take_fields(self, fields, *self.saved_objects)
        super()._load_state(rest)  # type: ignore[misc]
        for name, value in zip(self.saved_objects, saved, strict=True):
            target = getattr(self, name)
            if isinstance(target, deque):
                target.clear()
                target.extend(value)
            elif hasattr(target, "set_state"):
                target.set_state(value)
            else:
                setattr(self, name, value)


def take_fields(owner: object, fields: State, *names: str) -> tuple[list[Any], State]:
    """Return copies of the named fields, in that order, and the remaining fields.

    Raises:
        StateError: A field is missing.
    """
    missing = [name for name in names if name not in fields]
    if missing:
        raise StateError(
            f"The state lacks the fields {missing} of {type(owner).__name__}; it has "
            f"{sorted(fields)}. Was it taken from another version?"
        )
    taken = [copy_plain(fields[name], name) for name in names]
    return taken, {name: value for name, value in fields.items() if name not in names}


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


class FreezableStatistics(SavesObjects):
    """Mix-in of the normalising wrappers: running statistics that can be frozen and saved."""

    _update_running_mean = True

    @property
    def update_running_mean(self) -> bool:
        """Whether new samples change the statistics."""
        return self._update_running_mean

    @update_running_mean.setter
    def update_running_mean(self, setting: bool) -> None:
        self._update_running_mean = setting
