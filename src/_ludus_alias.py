"""Start-up code for ``LUDUS_AS_GYMNASIUM=1``: installs the import alias at ``import gymnasium``.

It runs before the program in every Python process with the variable, so it imports only modules
that Python has already loaded. NumPy must not be imported, because programs set its environment
variables first.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["watch"]


def watch() -> None:
    """Install the alias when ``gymnasium`` is first imported; a second call does nothing."""
    if not any(type(finder).__name__ == _Watcher.__name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watcher())


class _Watcher:
    """Import finder that is replaced by Ludus's finder on first use."""

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
            raise ModuleNotFoundError(
                "LUDUS_AS_GYMNASIUM=1 replaces gymnasium by Ludus, but Ludus is not installed for "
                f"{sys.executable}. Install it there, or unset the variable.",
                name="gymnasium",
            ) from problem
        alias.install()
        return alias.installed_finder()
