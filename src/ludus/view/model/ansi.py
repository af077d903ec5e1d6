"""Untrusted text as HTML: everything is visible, colours of terminals become class names.

Escape sequences other than colours and styles are shown as symbols, hyperlinks included. So is
every character that hides, reorders or overwrites other text.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from markupsafe import Markup, escape

__all__ = ["LONGEST_LINE", "ansi", "cut_lines", "decoded", "shown"]

LONGEST_LINE = 2000
"""Characters of a line that are shown."""

_MOST_SPANS = 4000
_MARKS = 3
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_SGR = re.compile(r"\x1b\[([0-9;:]{0,40})m")
_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_STYLES = {1: "b", 2: "dim", 3: "i", 4: "u", 7: "inv", 9: "s"}
_OFF = {22: ("b", "dim"), 23: ("i",), 24: ("u",), 27: ("inv",), 29: ("s",)}
_BRIGHT = 192


def decoded(content: bytes | memoryview) -> str:
    r"""Return bytes as text; those that are no UTF-8 are shown by :func:`shown` as ``\xNN``."""
    return bytes(content).decode("utf-8", "surrogateescape")


def shown(text: object) -> Markup:
    """Return a text as HTML in which every character is visible."""
    told = text if isinstance(text, str) else str(text)
    if _is_plain(told):
        return escape(told)
    pieces: list[str] = []
    marks = 0
    for character in told:
        symbol = _symbol(character)
        marks = marks + 1 if symbol is None and unicodedata.combining(character) else 0
        if marks > _MARKS:
            symbol = f"U+{ord(character):04X}"
        pieces.append(str(escape(character)) if symbol is None else f'<i class="c">{symbol}</i>')
    return Markup("".join(pieces))  # noqa: S704 - each piece was escaped


def ansi(text: object) -> Markup:
    """Return :func:`shown` with the colours and styles of terminals as spans with classes."""
    told = text if isinstance(text, str) else str(text)
    if "\x1b[" not in told:
        return shown(told)
    pieces: list[Markup] = []
    state: dict[str, str] = {}
    end = spans = 0
    for match in _SGR.finditer(told):
        if spans >= _MOST_SPANS:
            break
        pieces.append(_span(told[end : match.start()], state))
        _apply(match[1], state)
        end, spans = match.end(), spans + 1
    pieces.append(_span(told[end:], state))
    return Markup("").join(pieces)


def cut_lines(text: str, longest: int = LONGEST_LINE) -> str:
    """Return a text whose lines are cut, each with a note of how much is left out."""
    if len(text) <= longest:
        return text
    lines = text.split("\n")
    if all(len(line) <= longest for line in lines):
        return text
    return "\n".join(
        line
        if len(line) <= longest
        else f"{line[:longest]} […{len(line) - longest:,} more characters]"
        for line in lines
    )


def _is_plain(text: str) -> bool:
    bare = text.replace("\n", "").replace("\t", "")
    return bare.isprintable() and (bare.isascii() or not any(map(unicodedata.combining, bare)))


@lru_cache(maxsize=4096)
def _symbol(character: str) -> str | None:
    """Return what stands for a character that is not visible."""
    code = ord(character)
    if character in "\n\t":
        return None
    if character == "\r":
        # What follows would overwrite the line.
        return "\\r\n"
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"U+{code:04X}" if unicodedata.category(character) in _HIDDEN else None


def _span(text: str, state: dict[str, str]) -> Markup:
    if not text:
        return Markup("")
    inner = shown(text)
    if not state:
        return inner
    return Markup('<span class="{}">{}</span>').format(" ".join(sorted(state.values())), inner)


def _apply(codes: str, state: dict[str, str]) -> None:
    """Change the classes as the numbers of a sequence say."""
    numbers = [int(part) if part else 0 for part in re.split("[;:]", codes) if len(part) < 4]
    position = 0
    while position < len(numbers):
        code = numbers[position]
        position += 1
        if code == 0:
            state.clear()
        elif code in _STYLES:
            state[_STYLES[code]] = f"a-{_STYLES[code]}"
        elif code in _OFF:
            for name in _OFF[code]:
                state.pop(name, None)
        elif code in (38, 48):
            colour, taken = _extended(numbers[position:])
            position += taken
            _paint(state, "fg" if code == 38 else "bg", colour)
        elif code in (39, 49):
            state.pop("fg" if code == 39 else "bg", None)
        elif (base := code // 10 * 10) in (30, 40, 90, 100) and code - base < 8:
            bright = "bright-" if base >= 90 else ""
            _paint(state, "fg" if base in (30, 90) else "bg", bright + _NAMES[code - base])


def _paint(state: dict[str, str], where: str, colour: str | None) -> None:
    if colour is not None:
        state[where] = f"a-{where}-{colour}"


def _extended(numbers: list[int]) -> tuple[str | None, int]:
    """Return the nearest of the sixteen colours, and how many numbers described it."""
    if numbers[:1] == [5] and len(numbers) > 1:
        return _of_256(numbers[1]), 2
    if numbers[:1] == [2] and len(numbers) > 3:
        return _nearest(numbers[1], numbers[2], numbers[3]), 4
    return None, len(numbers)


def _of_256(code: int) -> str:
    if code < 16:
        return ("bright-" if code >= 8 else "") + _NAMES[code % 8]
    if code >= 232:
        level = 8 + 10 * (min(code, 255) - 232)
        return _nearest(level, level, level)
    code -= 16
    return _nearest(*(0 if part == 0 else 55 + 40 * part for part in _digits(code)))


def _digits(code: int) -> tuple[int, int, int]:
    return code // 36, code // 6 % 6, code % 6


def _nearest(red: int, green: int, blue: int) -> str:
    most = max(red, green, blue)
    if most - min(red, green, blue) < 32:
        return ("black", "bright-black", "white", "bright-white")[min(most // 64, 3)]
    bits = sum(1 << place for place, part in enumerate((red, green, blue)) if part * 2 > most)
    return ("bright-" if most > _BRIGHT else "") + _NAMES[bits]
