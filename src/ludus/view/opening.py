"""What commands do around the viewer: find sources, open a browser."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path

__all__ = ["default_sources", "open_browser"]


def default_sources() -> list[str]:
    """Return what is shown if nothing is named: ``runs``, else the current folder."""
    return ["runs" if Path("runs").is_dir() else "."]


def open_browser(address: str, *, wanted: bool | None) -> bool:
    """Open a browser and return whether that was tried.

    Args:
        address: What to open.
        wanted: ``None`` opens one if a person with a screen is there.
    """
    if wanted is None:
        has_screen = sys.platform == "darwin" or bool(
            os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
        )
        wanted = has_screen and sys.stdout.isatty()
    return wanted and webbrowser.open(address)
