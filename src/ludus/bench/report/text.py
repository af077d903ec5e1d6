"""Text from results, made fit to be read: nothing hidden, reordered or endless."""

from __future__ import annotations

import unicodedata

__all__ = ["shorten", "shorten_to_width", "visible", "width_of"]

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_MARKS_PER_CHARACTER = 3
_CHARACTER_EM = 0.66
_WIDE_EM = 1.2


def visible(text: str) -> str:
    r"""The text with everything that hides or reorders other text spelled out.

    Control and format characters, lone surrogates and marks that pile up beyond three on one
    character are written as ``\u202e``.
    """
    if text.isascii() and text.isprintable():
        return text
    shown = []
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if category in _INVISIBLE or marks > _MARKS_PER_CHARACTER:
            shown.append(_spelled(character))
        else:
            shown.append(character)
    return "".join(shown)


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


def _spelled(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
