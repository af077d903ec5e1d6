"""Markup that is safe by type: a plain string is escaped wherever it is put.

Only what :func:`element` and :func:`join` return is taken as markup, so a name from a result
cannot become a tag, an attribute or an entity.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ludus.terminal_text import visible

__all__ = ["Markup", "element", "join", "plain"]

_VOID = frozenset({"br", "hr", "link", "meta"})


class Markup(str):
    """Text that is markup already, and goes out as it is."""

    __slots__ = ()


def plain(text: str) -> Markup:
    """Text as markup: unprintable characters made visible, the rest escaped."""
    return text if isinstance(text, Markup) else Markup(escape(visible(text), quote=True))


def join(parts: Iterable[str], separator: str = "") -> Markup:
    """The parts one after the other; those that are not markup are escaped."""
    return Markup(separator.join(map(plain, parts)))


def element(name: str, /, *children: str, **attributes: str | float | None) -> Markup:
    """An element of HTML or SVG.

    Args:
        name: The tag, from our code.
        children: Markup, or text to escape.
        attributes: ``class_`` stands for ``class``, ``aria_label`` for ``aria-label``. None leaves
            one out, the empty string writes it without a value.
    """
    opening = name + "".join(
        f" {key.rstrip('_').replace('_', '-')}" + (f'="{_value(value)}"' if value != "" else "")
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{opening}>")
    return Markup(f"<{opening}>{join(children)}</{name}>")


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return escape(visible(value), quote=True)
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
