"""Colours text for terminals."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["color2num", "colorize"]

_NAMES = ("gray", "red", "green", "yellow", "blue", "magenta", "cyan", "white", "crimson")

color2num: Mapping[str, int] = MappingProxyType({name: 30 + i for i, name in enumerate(_NAMES)})
"""The code of each colour; ten more is the same colour as background."""


def colorize(string: str, color: str, bold: bool = False, highlight: bool = False) -> str:
    """Return ``string`` between the escape codes that colour it.

    Args:
        string: The text.
        color: One of :data:`color2num`.
        bold: Make it bold.
        highlight: Colour the background instead of the letters.

    Raises:
        KeyError: There is no such colour.
    """
    if color not in color2num:
        raise KeyError(f"There is no color {color!r}; choose one of {', '.join(color2num)}.")
    code = color2num[color] + (10 if highlight else 0)
    return f"\x1b[{code}{';1' if bold else ''}m{string}\x1b[0m"
