"""Start-up code for ``LUDUS_AS_GYMNASIUM=1``: waits for ``import gymnasium``, then loads Ludus.

It runs in every Python process that has the variable set, before the program, so it imports only
what Python itself has loaded by then; NumPy must not be among it, because programs set its
environment variables first.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["watch"]


def watch() -> None:
    """Serve Ludus as ``gymnasium`` once something asks for it; a second call does nothing."""
    if not any(type(finder).__name__ == _Watcher.__name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watcher())


class _Watcher:
    """Hands over to Ludus's own finder."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Find ``gymnasium``; leave everything else to others."""
        if fullname != "gymnasium":
            return None
        return self._successor().find_spec(fullname, path, target)

    def find_distributions(self, context: Any = None) -> Any:
        """Answer ``importlib.metadata`` about ``gymnasium``."""
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
                "LUDUS_AS_GYMNASIUM=1 asks to serve Ludus as gymnasium, but Ludus is not "
                f"installed for {sys.executable}. Install it there, or unset the variable.",
                name="gymnasium",
            ) from problem
        alias.install()
        return alias.installed_finder()
