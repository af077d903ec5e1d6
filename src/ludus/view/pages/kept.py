"""What pages keep as long as the application lives, made when it is first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from starlette.applications import Starlette

__all__ = ["close_kept", "kept"]

Kept = TypeVar("Kept")
_lock = threading.Lock()


def kept(app: Starlette, name: str, make: Callable[[], Kept]) -> Kept:
    """Return what the application's state has under a name; made by the first call."""
    with _lock:
        if not hasattr(app.state, name):
            setattr(app.state, name, make())
        found: Kept = getattr(app.state, name)
        return found


def close_kept(app: Starlette, name: str) -> None:
    """Close it, if it was ever made."""
    if hasattr(app.state, name):
        getattr(app.state, name).close()
