"""Wrappers of either library around environments of the other.

Wrappers of other packages derive from ``gymnasium.Wrapper``, which takes no environment but a
``gymnasium.Env``, and their constructors look at its spaces. Once :mod:`ludus.gymnasium` is
imported, or an environment of Gymnasium was adapted, these constructors convert a Ludus
environment first, as :func:`~ludus.interop.gymnasium.to_gymnasium` does. Environments of Gymnasium
reach them as before.
In the same way Ludus's wrappers take environments of Gymnasium, and vector wrappers vector
environments.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any

from ludus.core.env import Env
from ludus.core.vector_env import VectorEnv
from ludus.core.vector_wrapper import VectorWrapper
from ludus.core.wrapper import Wrapper

__all__ = ["ARGUMENTS", "let_wrappers_convert"]

ARGUMENTS = "_ludus_arguments"
"""The attribute in which a wrapper around a Ludus environment keeps how it was constructed."""

_MARK = "__converts_envs__"
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def let_wrappers_convert() -> None:
    """Let the constructors of both libraries' wrappers convert environments of the other one."""
    import gymnasium.core
    import gymnasium.vector as theirs

    _extend_family(gymnasium.core.Wrapper, Env, "to_gymnasium")
    _extend_family(Wrapper, gymnasium.core.Env, "from_gymnasium")
    _extend_family(theirs.VectorWrapper, VectorEnv, "to_gymnasium_vector")
    _extend_family(VectorWrapper, theirs.VectorEnv, "from_gymnasium_vector")


def _extend_family(wrapper: Any, kind: type, converter: str) -> None:
    """Extend a class of wrappers, those derived from it, and those that will be."""
    # Where Ludus is served as Gymnasium, there is nothing to convert.
    if issubclass(wrapper, kind) or hasattr(wrapper.__init__, _MARK):
        return

    def converted(value: Any) -> Any:
        if not isinstance(value, kind):
            return value
        return getattr(importlib.import_module("ludus.interop.gymnasium"), converter)(value)

    def on_subclass(cls: type, /, **kwargs: Any) -> None:
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
    # The adapters take environments of both libraries.
    if original is None or hasattr(original, _MARK) or cls.__module__.startswith(__package__):
        return

    @functools.wraps(original)
    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        given = {name: converted(value) for name, value in kwargs.items()}
        values = [converted(value) for value in args]
        _record(self, original, values, given)
        original(self, *values, **given)

    setattr(construct, _MARK, True)
    cls.__init__ = construct


def _record(wrapper: Any, original: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Keep the arguments of a Gymnasium wrapper around a Ludus environment, to build it again.

    Few wrappers of other packages record theirs. Of nested constructors, the outermost counts.
    """
    if ARGUMENTS in vars(wrapper) or not any(map(_is_adapted, (*args, *kwargs.values()))):
        return
    try:
        bound = inspect.signature(original).bind(wrapper, *args, **kwargs)
    except TypeError:  # the constructor will say what is wrong
        return
    _, *names = bound.arguments
    if all(parameter.kind in _NAMED for parameter in bound.signature.parameters.values()):
        wrapper.__dict__[ARGUMENTS] = {
            name: bound.arguments[name] for name in names if not _is_adapted(bound.arguments[name])
        }


def _is_adapted(value: Any) -> bool:
    """Tell whether a value is a Ludus environment as Gymnasium's, in wrappers or not."""
    adapters = sys.modules.get(f"{__package__}.adapter")
    while adapters is not None and not isinstance(value, adapters.AsGymnasium):
        value = vars(value).get("env") if hasattr(value, "__dict__") else None
        if value is None:
            return False
    return adapters is not None
