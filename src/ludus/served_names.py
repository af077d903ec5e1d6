"""Names under which classes of Ludus are served to other code, and their own names.

Ludus can take the place of another library (:mod:`ludus.interop.gymnasium.alias`). Its classes
then carry that library's module names, and specs that library's entry points. What is written to
files, or sent to a process that may not be served the same way, must hold Ludus's own names:
:func:`own_name` gives them.
"""

from __future__ import annotations

from typing import Any

__all__ = ["OWN_NAMES", "ServedName", "own_name"]

OWN_NAMES: dict[str, str] = {}
"""Own name by served name, both as ``"module:name"``; empty unless Ludus is being served."""


class ServedName(str):
    """Another library's entry point in a spec whose environment is Ludus's.

    Unlike a name in :data:`OWN_NAMES` it says nothing about other specs with the same entry point.

    Attributes:
        own: Ludus's own ``"module:name"``.
    """

    __slots__ = ("own",)
    own: str

    @classmethod
    def of(cls, name: str, own: str) -> ServedName:
        """Return a name together with the own one."""
        made = cls(name)
        made.own = own
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return ServedName.of, (str(self), self.own)


def own_name(entry_point: str) -> str:
    """Return Ludus's own ``"module:name"`` for a served one; other names come back as they are.

    >>> own_name("my_package.maze:MazeEnv")
    'my_package.maze:MazeEnv'
    """
    if isinstance(entry_point, ServedName):
        return entry_point.own
    module, _, path = entry_point.partition(":")
    name, dot, rest = path.partition(".")
    own = OWN_NAMES.get(f"{module}:{name}")
    return entry_point if own is None else f"{own}{dot}{rest}"
