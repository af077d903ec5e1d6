"""Text from results, shortened to a number of characters or to a width."""

from __future__ import annotations

import unicodedata

from ludus.terminal_text import visible

__all__ = ["shorten", "shorten_to_width", "width_of"]

_CHARACTER_EM = 0.66
_WIDE_EM = 1.2


def shorten(text: str, limit: int = 80) -> str:
    """At most so many characters: the beginning, an ellipsis and the end."""
    if len(text) <= limit:
        return text
    tail = max(limit // 3, 1)
    return f"{text[: limit - tail - 1]}…{text[-tail:]}"


def width_of(text: str) -> float:
    """A generous guess of how many times its font size the text is wide."""
    return sum(
        _WIDE_EM
        if unicodedata.east_asian_width(character) in "WF" or ord(character) > 0x2FFF
        else _CHARACTER_EM
        for character in text
    )


def shorten_to_width(text: str, width: float) -> str:
    """The visible text, cut in its middle until it is no wider than so many font sizes."""
    shown = shorten(visible(text), max(int(width / _CHARACTER_EM), 3))
    while len(shown) > 3 and width_of(shown) > width:
        shown = shorten(shown, len(shown) - 1)
    return shown
