"""Wrappers of either library around environments of the other.

Third-party wrappers derive from ``gymnasium.Wrapper``, which accepts a ``gymnasium.Env`` only. Once
:mod:`ludus.gymnasium` is imported, or a Gymnasium environment was adapted, their constructors
convert Ludus environments by :func:`~ludus.interop.gymnasium.to_gymnasium`. In the same way Ludus's
wrappers accept Gymnasium environments, and vector wrappers vector environments.
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
"""Attribute of a wrapper around a Ludus environment that holds its constructor arguments."""

_MARK = "__converts_envs__"
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def let_wrappers_convert() -> None:
    """Make the wrapper constructors of both libraries convert the other's environments."""
    import gymnasium.core
    import gymnasium.vector as theirs

    _extend_family(gymnasium.core.Wrapper, Env, "to_gymnasium")
    _extend_family(Wrapper, gymnasium.core.Env, "from_gymnasium")
    _extend_family(theirs.VectorWrapper, VectorEnv, "to_gymnasium_vector")
    _extend_family(VectorWrapper, theirs.VectorEnv, "from_gymnasium_vector")


def _extend_family(wrapper: Any, kind: type, converter: str) -> None:
    """Extend a wrapper class and its present and future subclasses."""
    # If the alias is installed, there is nothing to convert.
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
    # The adapters accept environments of both libraries.
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
    """Store the constructor arguments of a Gymnasium wrapper around a Ludus environment.

    The wrapper can then be rebuilt from a spec; few third-party wrappers record their arguments.
    Of nested constructors, the outermost is recorded.
    """
    if ARGUMENTS in vars(wrapper) or not any(map(_is_adapted, (*args, *kwargs.values()))):
        return
    try:
        bound = inspect.signature(original).bind(wrapper, *args, **kwargs)
    except TypeError:  # the constructor will raise the same
        return
    _, *names = bound.arguments
    if all(parameter.kind in _NAMED for parameter in bound.signature.parameters.values()):
        wrapper.__dict__[ARGUMENTS] = {
            name: bound.arguments[name] for name in names if not _is_adapted(bound.arguments[name])
        }


def _is_adapted(value: Any) -> bool:
    """Return whether a value is an adapted Ludus environment, in wrappers or not."""
    adapters = sys.modules.get(f"{__package__}.adapter")
    while adapters is not None and not isinstance(value, adapters.AsGymnasium):
        value = vars(value).get("env") if hasattr(value, "__dict__") else None
        if value is None:
            return False
    return adapters is not None
