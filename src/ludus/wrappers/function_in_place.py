"""Mix-in of the ``Transform…`` wrappers, which call one function of the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

__all__ = ["FunctionInPlace", "calls_func"]


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
