"""Start-up code for ``LUDUS_AS_GYMNASIUM=1`` and ``LUDUS_AS_MLGYM=1``.

It installs the import alias at ``import gymnasium`` or ``import mlgym``. It runs before the program
in every Python process with the variable, so it imports only modules that Python has already
loaded. NumPy must not be imported, because programs set its environment variables first.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["watch", "watch_mlgym"]


def watch() -> None:
    """Install the alias when ``gymnasium`` is first imported; a second call does nothing."""
    _add("gymnasium", _GymnasiumWatcher)


def watch_mlgym() -> None:
    """Install the alias when ``mlgym`` is first imported; a second call does nothing."""
    _add("mlgym", _Watcher)


def _add(name: str, kind: type[_Watcher]) -> None:
    # Another copy of this module may have added a finder of another class.
    if not any(getattr(finder, "watched_by_ludus", "") == name for finder in sys.meta_path):
        sys.meta_path.insert(0, kind(name))


class _Watcher:
    """Import finder for one package that is replaced by Ludus's finder on first use."""

    def __init__(self, name: str) -> None:
        self.watched_by_ludus = name

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Find the package only."""
        if fullname != self.watched_by_ludus:
            return None
        return self._successor().find_spec(fullname, path, target)

    def _successor(self) -> Any:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        name = self.watched_by_ludus
        try:
            if name == "gymnasium":
                from ludus.interop.gymnasium.alias import install, installed_finder
            else:
                from ludus.interop.mlgym.alias import install, installed_finder
        except ModuleNotFoundError as problem:
            if problem.name != "ludus":
                raise
            raise ModuleNotFoundError(
                f"LUDUS_AS_{name.upper()}=1 replaces {name} by Ludus, but Ludus is not installed "
                f"for {sys.executable}. Install it there, or unset the variable.",
                name=name,
            ) from problem
        install()
        return installed_finder()


class _GymnasiumWatcher(_Watcher):
    """The finder for ``gymnasium``, whose distribution Ludus's finder has as well."""

    def find_distributions(self, context: Any = None) -> Any:
        """Find the distribution ``gymnasium`` only."""
        if (getattr(context, "name", None) or "").lower() != "gymnasium":
            return ()
        return self._successor().find_distributions(context)
