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
    _add(_Watcher)


def watch_mlgym() -> None:
    """Install the alias when ``mlgym`` is first imported; a second call does nothing."""
    _add(_MlgymWatcher)


def _add(kind: type) -> None:
    if not any(type(finder).__name__ == kind.__name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, kind())


def _not_installed(variable: str, name: str) -> ModuleNotFoundError:
    return ModuleNotFoundError(
        f"{variable}=1 replaces {name} by Ludus, but Ludus is not installed for "
        f"{sys.executable}. Install it there, or unset the variable.",
        name=name,
    )


class _Watcher:
    """Import finder for ``gymnasium`` that is replaced by Ludus's finder on first use."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Find ``gymnasium`` only."""
        if fullname != "gymnasium":
            return None
        return self._successor().find_spec(fullname, path, target)

    def find_distributions(self, context: Any = None) -> Any:
        """Find the distribution ``gymnasium`` only."""
        if (getattr(context, "name", None) or "").lower() != "gymnasium":
            return ()
        return self._successor().find_distributions(context)

    def _successor(self) -> Any:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        try:
            from ludus.interop.gymnasium import alias
        except ModuleNotFoundError as problem:
            if problem.name != "ludus":
                raise
            raise _not_installed("LUDUS_AS_GYMNASIUM", "gymnasium") from problem
        alias.install()
        return alias.installed_finder()


class _MlgymWatcher:
    """Import finder for ``mlgym`` that is replaced by Ludus's finder on first use."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Find ``mlgym`` only."""
        if fullname != "mlgym":
            return None
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        try:
            from ludus.interop.mlgym import alias
        except ModuleNotFoundError as problem:
            if problem.name != "ludus":
                raise
            raise _not_installed("LUDUS_AS_MLGYM", "mlgym") from problem
        alias.install()
        finder: Any = sys.meta_path[0]
        return finder.find_spec(fullname, path, target)
