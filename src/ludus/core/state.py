"""Plain-data states: which values ``get_state`` may return, and how they are copied.

A state outlives its environment, is written to disk without pickle and may be loaded on another
machine. So every value is copied when it is saved and when it is loaded, and a value that is not
plain data raises an error with the path to it.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec

import numpy as np

from ludus.core.types import State
from ludus.errors import StateError
from ludus.seeding import generator_from_state, generator_state

__all__ = [
    "copy_plain",
    "read_fields",
    "refusing_damage",
    "rng_from_plain",
    "rng_to_plain",
    "write_fields",
]

_Arguments = ParamSpec("_Arguments")
_SCALARS = (bool, int, float, str, bytes, type(None), np.generic)


def copy_plain(value: Any, where: str = "state") -> Any:
    """Return a deep copy of plain data.

    Raises:
        StateError: ``value`` holds something else, or itself; the message names where.
    """
    try:
        return _copied(value, where)
    except RecursionError:
        raise StateError(f"{where} is nested too deep, or contains itself.") from None


def _copied(value: Any, where: str) -> Any:
    if isinstance(value, _SCALARS):
        return value
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise StateError(f"{where} is an array of Python objects; use a numeric array.")
        return value.copy()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_copied(v, f"{where}[{i}]") for i, v in enumerate(value)))
    if isinstance(value, list | tuple):
        return type(value)(_copied(v, f"{where}[{i}]") for i, v in enumerate(value))
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str | int):
                raise StateError(f"{where} has the key {key!r}; keys must be strings or ints.")
        return {key: _copied(v, f"{where}[{key!r}]") for key, v in value.items()}
    raise StateError(
        f"{where} is a {type(value).__name__}, which cannot be saved. A state holds numbers, "
        "strings, lists, dicts and NumPy arrays; convert the value in _save_state()."
    )


def read_fields(owner: object, names: Iterable[str]) -> State:
    """Copy the named attributes of ``owner``; one that was never set is left out."""
    # Not with vars(), which would make every later attribute access slower.
    return {
        name: copy_plain(getattr(owner, name), f"{type(owner).__name__}.{name}")
        for name in names
        if hasattr(owner, name)
    }


def write_fields(owner: object, names: Iterable[str], fields: State) -> None:
    """Set the named attributes of ``owner`` to copies of what :func:`read_fields` returned.

    Raises:
        StateError: ``fields`` names an attribute that is not part of the state.
    """
    known = set(names)
    unknown = sorted(set(fields) - known)
    if unknown:
        raise StateError(
            f"The state has fields {unknown} that {type(owner).__name__} does not know; "
            f"it knows {sorted(known)}. Was it taken from another class or version?"
        )
    for name in known:
        if name in fields:
            setattr(owner, name, copy_plain(fields[name], name))
        else:
            with contextlib.suppress(AttributeError):
                delattr(owner, name)


def refusing_damage(set_state: Callable[_Arguments, None]) -> Callable[_Arguments, None]:
    """Decorate a ``set_state`` to raise StateError for errors that a damaged state causes."""

    @functools.wraps(set_state)
    def checked(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> None:
        try:
            set_state(*args, **kwargs)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
            raise StateError(
                f"The state is damaged, or not one of {type(args[0]).__name__}: {problem!r}."
            ) from problem

    return checked


def rng_to_plain(rng: np.random.Generator | None, seed: int | None) -> State | None:
    """Return a generator and its seed as plain data, ``None`` for a generator not yet made."""
    if rng is None:
        return None
    return {"generator": generator_state(rng), "seed": None if seed is None else str(seed)}


def rng_from_plain(state: State | None) -> tuple[np.random.Generator | None, int | None]:
    """Undo :func:`rng_to_plain`."""
    if state is None:
        return None, None
    seed = state["seed"]
    return generator_from_state(state["generator"]), None if seed is None else int(seed)
