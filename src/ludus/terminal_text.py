"""Texts of others on a terminal: shown, and never obeyed."""

from __future__ import annotations

__all__ = ["escaped"]


def escaped(text: str) -> str:
    """Return a text with escapes for what drives a terminal or reorders what it shows.

    Line ends and tabs stay.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)
