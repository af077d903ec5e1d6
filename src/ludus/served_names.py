"""Ludus's own names of classes that have Gymnasium's names under the import alias.

With the alias (:mod:`ludus.interop.gymnasium.alias`) classes have Gymnasium's module names, and
specs Gymnasium's entry points. Files, and other processes that may not have the alias, must get
Ludus's own names: :func:`own_name` returns them.
"""

from __future__ import annotations

from typing import Any

__all__ = ["OWN_NAMES", "ServedName", "own_name"]

OWN_NAMES: dict[str, str] = {}
"""Ludus's name by Gymnasium's name, both ``"module:name"``; empty without the alias."""


class ServedName(str):
    """Another library's entry point in the spec of a Ludus environment.

    Unlike :data:`OWN_NAMES` it does not affect other specs with the same entry point.

    Attributes:
        own: Ludus's own ``"module:name"``.
    """

    __slots__ = ("own",)
    own: str

    @classmethod
    def of(cls, name: str, own: str) -> ServedName:
        """Return a served name with Ludus's own name."""
        made = cls(name)
        made.own = own
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return ServedName.of, (str(self), self.own)


def own_name(entry_point: str) -> str:
    """Return Ludus's own ``"module:name"`` of a served one; other names are returned unchanged.

    >>> own_name("my_package.maze:MazeEnv")
    'my_package.maze:MazeEnv'
    """
    if isinstance(entry_point, ServedName):
        return entry_point.own
    module, _, path = entry_point.partition(":")
    name, dot, rest = path.partition(".")
    own = OWN_NAMES.get(f"{module}:{name}")
    return entry_point if own is None else f"{own}{dot}{rest}"
