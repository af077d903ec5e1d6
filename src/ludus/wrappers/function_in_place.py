"""Wrappers whose work is one function that the user gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

__all__ = ["FunctionInPlace", "calls_func"]


Method = TypeVar("Method", bound=Callable[..., Any])


def calls_func(method: Method) -> Method:
    """Mark a method that does nothing but call ``self.func``."""
    method.calls_func = True  # type: ignore[attr-defined]
    return method


class FunctionInPlace:
    """Mix-in: ``func`` takes the place of the method that calls it, which saves a call per step.

    A method that a subclass overrides stays in its place.
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
