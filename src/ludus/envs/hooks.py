"""Rejects overrides of methods that Gymnasium's environments call and Ludus's do not.

A subclass that overrides such a method, for example to change rewards, would silently have no
effect, so defining the class raises an error.
"""

from __future__ import annotations

from itertools import takewhile
from types import FunctionType
from typing import Any, ClassVar
from weakref import WeakSet

__all__ = ["RefusesHooks"]

# Resolved when a subclass is defined, because the alias may rename modules until then.
_builtin: WeakSet[type] = WeakSet()


class RefusesHooks:
    """Base class of environments that list the methods which they do not call."""

    uncalled_hooks: ClassVar[tuple[str, ...]] = ()
    """Methods of Gymnasium's class that this class does not call; those of its bases count too."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Check the methods of a new subclass.

        Raises:
            TypeError: It overrides a method that is never called.
        """
        super().__init_subclass__(**options)
        if cls.__module__.startswith("ludus."):
            _builtin.add(cls)
            return
        own = list(takewhile(lambda base: base not in _builtin, cls.__mro__))
        hooks = {name for base in cls.__mro__ for name in vars(base).get("uncalled_hooks", ())}
        for name in sorted(hooks & vars(cls).keys()):
            if not any(_mentions(base, name) for base in own):
                builtin = cls.__mro__[len(own)].__name__
                raise TypeError(
                    f"{cls.__name__} overrides {name}(), which {builtin} of Ludus does not call, "
                    "so it would have no effect. Override step(), reset() or render(), or put a "
                    "wrapper around the environment."
                )


def _mentions(cls: type, name: str) -> bool:
    """Return whether another method of the class uses the name."""
    functions = (value for key, value in vars(cls).items() if key != name)
    return any(isinstance(f, FunctionType) and name in f.__code__.co_names for f in functions)
