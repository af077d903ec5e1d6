"""Remembering how an object was built."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

__all__ = ["EzPickle", "RecordConstructorArgs", "copied_arguments"]

_PLAIN = frozenset({bool, float, int, str, type(None)})


def copied_arguments(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return a deep copy of keyword arguments, most of which are plain values."""
    if all(type(value) in _PLAIN for value in kwargs.values()):
        return kwargs.copy()
    return deepcopy(kwargs)


class RecordConstructorArgs:
    """Mix-in that keeps constructor arguments, so that a wrapper can appear in a spec.

    Call ``RecordConstructorArgs.__init__`` before the other bases': the first call wins, so a
    subclass's arguments are kept, not those it passes on to its parent.
    """

    _saved_kwargs: dict[str, Any]

    def __init__(self, *, _disable_deepcopy: bool = False, **kwargs: Any) -> None:
        # Not through __dict__: touching it makes every later attribute access slower.
        if not hasattr(self, "_saved_kwargs"):
            self._saved_kwargs = kwargs if _disable_deepcopy else copied_arguments(kwargs)


class EzPickle:
    """Mix-in that pickles and copies an object by building it anew from its constructor arguments.

    Meant for objects that hold what cannot be copied, such as a physics engine's handles.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._ezpickle_args = args
        self._ezpickle_kwargs = kwargs

    def __getstate__(self) -> dict[str, Any]:
        return {
            "_ezpickle_args": self._ezpickle_args,
            "_ezpickle_kwargs": self._ezpickle_kwargs,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        rebuilt = type(self)(*state["_ezpickle_args"], **state["_ezpickle_kwargs"])
        self.__dict__.update(rebuilt.__dict__)
