"""Pages: one module each, with a table of its routes.

A module has ``routes``; see :func:`ludus.view.app.create_app` for what else it may have.
"""

from __future__ import annotations

__all__ = ["PAGES"]

PAGES = (
    *("runs", "run", "episode", "step", "conversation", "files", "compare", "live"),
    *("record", "frames", "play", "envs", "board"),
)
"""The modules, in the order of the main navigation."""
