"""Text from a box, made fit for a terminal and for a log."""

from __future__ import annotations

from ludus.terminal_text import escaped

__all__ = ["printable"]


def printable(text: str, limit: int, *, tail: bool = False) -> str:
    """Return at most ``limit`` characters of a text, with escapes for what drives a terminal."""
    if len(text) > limit:
        text = f"…{text[-limit:]}" if tail else f"{text[:limit]}…"
    return escaped(text).strip()
