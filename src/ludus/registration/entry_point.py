"""Import of entry points, and checks of their arguments."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Protocol

from ludus.core.env import Env
from ludus.core.vector_env import VectorEnv
from ludus.errors import Error, InvalidArgument
from ludus.registration.table import did_you_mean
from ludus.served_names import own_name

__all__ = ["EnvCreator", "VectorEnvCreator", "check_arguments", "load_env_creator", "resolve"]


class EnvCreator(Protocol):
    """Callable of an entry point that builds an environment."""

    def __call__(self, **kwargs: Any) -> Env:
        """Build the environment."""


class VectorEnvCreator(Protocol):
    """Callable of a vector entry point that builds a vector environment."""

    def __call__(self, **kwargs: Any) -> VectorEnv:
        """Build the vector environment."""


def load_env_creator(name: str) -> Callable[..., Any]:
    """Import ``"module:name"`` and return the object.

    Raises:
        ModuleNotFoundError, ImportError: The module cannot be imported.
        AttributeError: The module has no such name.
        ValueError: There is not exactly one colon.

    >>> load_env_creator("ludus.envs.classic_control:CartPoleEnv").__name__
    'CartPoleEnv'
    """
    if name.count(":") != 1:
        raise ValueError(
            f"The entry point is {name!r}, expected 'module:name' with one colon, for example "
            "'my_package.maze:MazeEnv'."
        )
    module_name, _, attribute = own_name(name).partition(":")
    module = importlib.import_module(module_name)
    try:
        creator: Callable[..., Any] = attrgetter(attribute)(module)
    except AttributeError as problem:
        hint = did_you_mean(attribute, [word for word in dir(module) if word[0] != "_"])
        raise AttributeError(f"Entry point {name!r}: {problem}.{hint}") from problem
    return creator


def resolve(env_id: str, entry_point: Callable[..., Any] | str | None) -> Callable[..., Any]:
    """Return the callable of an entry point.

    Raises:
        Error: The spec has no entry point.
    """
    if entry_point is None:
        raise Error(
            f"{env_id} registered but entry_point is not specified: it exists only as a vector "
            "environment. Use ludus.make_vec(...)."
        )
    return load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point


def check_arguments(env_id: str, creator: Callable[..., Any], kwargs: Mapping[str, Any]) -> None:
    """Check keyword arguments against the signature of an entry point.

    Raises:
        InvalidArgument: An argument is unknown, or a required one is missing.
    """
    if _plainly_takes(creator, kwargs):
        return
    try:
        parameters = inspect.signature(creator).parameters.values()
    except (TypeError, ValueError):
        return  # a creator written in C has no signature; it checks its arguments itself
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    by_name = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    names = [p.name for p in by_name]
    unknown = [] if takes_any else [key for key in kwargs if key not in names]
    missing = [p.name for p in by_name if p.default is p.empty and p.name not in kwargs]
    if not unknown and not missing:
        return
    label = getattr(creator, "__qualname__", repr(creator))
    expected = f"{label} takes: {', '.join(names) or 'no arguments'}."
    if unknown:
        what = f"got an unexpected keyword argument '{unknown[0]}'{_and_more(unknown)}"
        expected += did_you_mean(unknown[0], names)
    else:
        what = f"missing a required argument: '{missing[0]}'{_and_more(missing)}"
    raise InvalidArgument(f"make({env_id!r}) {what}. {expected}")


def _plainly_takes(creator: Callable[..., Any], kwargs: Mapping[str, Any]) -> bool:
    """Return whether a class has a plain ``__init__`` that accepts the arguments.

    This is a fast path; ``inspect.signature`` takes longer than most constructors.
    """
    if type(creator) is not type or getattr(creator, "__new__") is not object.__new__:  # noqa: B009
        return False
    function = getattr(creator, "__init__")  # noqa: B009 - mypy takes it for one of any object
    if not inspect.isfunction(function) or function.__dict__:
        return False
    if hasattr(creator, "__signature__"):
        return False
    code, defaults = function.__code__, function.__defaults__ or ()
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) or code.co_posonlyargcount:
        return False
    named = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    by_place = code.co_argcount - 1
    required = {*named[: by_place - len(defaults)]}
    required |= {*named[by_place:]} - {*(function.__kwdefaults__ or ())}
    return required <= kwargs.keys() <= {*named}


def _and_more(names: list[str]) -> str:
    return f" (and {', '.join(repr(name) for name in names[1:])})" if len(names) > 1 else ""
