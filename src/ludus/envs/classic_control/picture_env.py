"""Kernel environments that are rendered as a picture."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ludus.envs.classic_control.array_state import ArrayStateEnv
from ludus.envs.classic_control.parameter import Parameter
from ludus.envs.hooks import RefusesHooks
from ludus.envs.screen import Screen, warn_no_render_mode

__all__ = ["PictureEnv"]


class PictureEnv(RefusesHooks, ArrayStateEnv):
    """A kernel environment rendered by drawing its state on a canvas.

    Subclasses set :attr:`screen_width` and :attr:`screen_height` and implement :meth:`draw`.
    """

    screen_width: ClassVar[int]
    screen_height: ClassVar[int]
    constants_of_class: ClassVar[bool] = False
    """Whether a subclass changes constants by class attributes; otherwise ``__init__`` sets them
    on the instance, so that class attributes of the same name count for nothing."""
    _screen: Screen | None = None
    # Gymnasium's names for the window, for subclasses with a render() of their own.
    screen: Any = None
    clock: Any = None
    isopen: bool = True

    def __init_subclass__(cls, **options: Any) -> None:
        """Make class attributes of a subclass with the names of constants new defaults.

        Raises:
            TypeError: The subclass defines a constant as a property, unusable by compiled code.
        """
        super().__init_subclass__(**options)
        for name, value in list(vars(cls).items()):
            constant = next((vars(base)[name] for base in cls.__mro__[1:] if name in vars(base)), 0)
            if not isinstance(constant, Parameter) or isinstance(value, Parameter):
                continue
            if hasattr(value, "__get__"):
                raise TypeError(
                    f"{cls.__name__}.{name} is a {type(value).__name__}; compiled code reads "
                    f"{name} as a number. Set self.{name} to a number whenever it changes."
                )
            if cls.constants_of_class:
                setattr(cls, name, constant.with_default(value))
            else:
                delattr(cls, name)

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
            self.isopen = False
        super().close()
