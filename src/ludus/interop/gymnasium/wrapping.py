"""Gymnasium's wrappers around environments of Ludus.

Wrappers of other packages derive from ``gymnasium.Wrapper``, which takes no environment but a
``gymnasium.Env``, and their constructors look at its spaces. Where both libraries are imported,
these constructors convert a Ludus environment first, as
:func:`~ludus.interop.gymnasium.to_gymnasium` does. Environments of Gymnasium reach them as before.
The same holds for vector wrappers.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from ludus.core.env import Env
from ludus.core.vector_env import VectorEnv

__all__ = ["let_wrappers_take_ludus_envs"]

_MARK = "__takes_ludus_envs__"


def let_wrappers_take_ludus_envs() -> None:
    """Let the constructors of Gymnasium's wrappers convert Ludus environments."""
    import gymnasium.core
    import gymnasium.vector

    _extend_family(gymnasium.core.Wrapper, Env, "to_gymnasium")
    _extend_family(gymnasium.vector.VectorWrapper, VectorEnv, "to_gymnasium_vector")


def _extend_family(wrapper: Any, kind: type, converter: str) -> None:
    """Extend a class of wrappers, those derived from it, and those that will be."""
    # Where Ludus is served as Gymnasium, there is nothing to convert.
    if issubclass(wrapper, kind) or hasattr(wrapper.__init__, _MARK):
        return

    def converted(value: Any) -> Any:
        if not isinstance(value, kind):
            return value
        return getattr(importlib.import_module("ludus.interop.gymnasium"), converter)(value)

    def on_subclass(cls: type, **kwargs: Any) -> None:
        super(wrapper, cls).__init_subclass__(**kwargs)
        _extend(cls, converted)

    wrapper.__init_subclass__ = classmethod(on_subclass)
    classes = [wrapper]
    while classes:
        cls = classes.pop()
        classes += cls.__subclasses__()
        _extend(cls, converted)


def _extend(cls: Any, converted: Callable[[Any], Any]) -> None:
    original = vars(cls).get("__init__")
    if original is None or hasattr(original, _MARK):
        return

    @functools.wraps(original)
    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        given = {name: converted(value) for name, value in kwargs.items()}
        original(self, *(converted(value) for value in args), **given)

    setattr(construct, _MARK, True)
    cls.__init__ = construct
