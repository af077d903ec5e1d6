"""Text from results, shortened to a number of characters or to a width."""

from __future__ import annotations

import math
import unicodedata

from ludus.terminal_text import visible

__all__ = [
    "ABSENT",
    "count",
    "interval",
    "number",
    "plural",
    "ratio",
    "ratio_interval",
    "share",
    "shorten",
    "shorten_to_width",
    "width_of",
]


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


ABSENT = "–"
_SMALL, _LARGE = 1e-4, 1e6


def number(value: float | None, digits: int = 4) -> str:
    """A finite number to so many significant digits; a dash for None, NaN and infinities."""
    if value is None or not math.isfinite(value):
        return ABSENT
    if value == 0:
        return "0"
    size = abs(value)
    if not _SMALL <= size < _LARGE:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{max(digits - 1 - math.floor(math.log10(size)), 0)}f}"


def interval(low: float | None, high: float | None, digits: int = 4) -> str:
    """``[low, high]``, or a dash where there is no interval."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ABSENT
    return f"[{number(low, digits)}, {number(high, digits)}]"


def ratio(value: float | None) -> str:
    """A number near 0 to 1, always to three decimals, so that columns of them line up."""
    if value is None or not math.isfinite(value) or abs(value) >= 1000:
        return number(value)
    return f"{value + 0.0:.3f}".replace("-0.000", "0.000")


def ratio_interval(low: float | None, high: float | None) -> str:
    """As :func:`interval`, of numbers near 0 to 1."""
    if low is None or high is None:
        return ABSENT
    return f"[{ratio(low)}, {ratio(high)}]"


def count(value: int) -> str:
    """A whole number with its thousands apart."""
    return f"{value:,}"


def plural(value: int, one: str, many: str | None = None) -> str:
    """``1 run``, ``2 runs``."""
    return f"{count(value)} {one if value == 1 else many or one + 's'}"


def share(part: int, whole: int) -> str:
    """``3 of 4``: a part and its total."""
    return f"{count(part)} of {count(whole)}"
