"""Mix-ins that record constructor arguments."""

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
    """Mix-in that records constructor arguments, so that a spec can rebuild a wrapper.

    Call ``RecordConstructorArgs.__init__`` before the other bases': only the first call has an
    effect, so the arguments of a subclass are kept, not those it passes to its parent.
    """

    _saved_kwargs: dict[str, Any]

    def __init__(self, *, _disable_deepcopy: bool = False, **kwargs: Any) -> None:
        # Accessing __dict__ would make every later attribute access slower.
        if not hasattr(self, "_saved_kwargs"):
            self._saved_kwargs = kwargs if _disable_deepcopy else copied_arguments(kwargs)


class EzPickle:
    """Mix-in that pickles and copies an object by its constructor arguments.

    For objects with parts that cannot be copied, such as handles of a physics engine.
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
