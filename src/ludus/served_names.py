"""Names under which classes of Ludus are served to other code, and their own names.

Ludus can take the place of another library (:mod:`ludus.interop.gymnasium.alias`). Its classes
then carry that library's module names, and specs that library's entry points. What is written to
files, or sent to a process that may not be served the same way, must hold Ludus's own names:
:func:`own_name` gives them.
"""

from __future__ import annotations

__all__ = ["OWN_NAMES", "own_name"]

OWN_NAMES: dict[str, str] = {}
"""Own name by served name, both as ``"module:name"``; empty unless Ludus is being served."""


def own_name(entry_point: str) -> str:
    """Return Ludus's own ``"module:name"`` for a served one; other names come back as they are.

    >>> own_name("my_package.maze:MazeEnv")
    'my_package.maze:MazeEnv'
    """
    module, _, path = entry_point.partition(":")
    name, dot, rest = path.partition(".")
    own = OWN_NAMES.get(f"{module}:{name}")
    return entry_point if own is None else f"{own}{dot}{rest}"
