"""Styles of series: colour, dash and marker, never colour alone."""

from __future__ import annotations

import math
from functools import lru_cache

from ludus.bench.report.markup import Markup, element

__all__ = ["STYLES", "dash", "marker", "series_class", "swatch"]

_DASHES = (None, "7 4", "2 3", "9 3 2 3", "12 4", "4 2", "1 4", "9 3 2 3 2 3")
_SHAPES = ("circle", "square", "triangle", "diamond", "cross", "plus", "wedge", "ring")
STYLES = len(_SHAPES)
"""How many series have a style of their own; those beyond share a plain one."""


def series_class(style: int) -> str:
    """The class of the style sheet that colours a series."""
    return f"s{style}" if 0 <= style < STYLES else "rest"


def dash(style: int) -> str | None:
    """The dash pattern of a series' line."""
    return _DASHES[style] if 0 <= style < STYLES else None


def marker(style: int, x: float, y: float, size: float = 4.5) -> Markup:
    """The mark of a series, centred."""
    shape = _SHAPES[style] if 0 <= style < STYLES else "circle"
    if shape in ("circle", "ring"):
        hollow = shape == "ring"
        return element("circle", class_="mark hollow" if hollow else "mark", cx=x, cy=y, r=size)
    if shape in ("cross", "plus"):
        return element("path", class_="mark hollow", d=_strokes(shape, x, y, size))
    return element("path", class_="mark", d=_polygon(shape, x, y, size))


@lru_cache(maxsize=2 * STYLES)
def swatch(style: int) -> Markup:
    """A piece of line with its mark, to stand beside a name."""
    return element(
        "svg",
        element("path", class_="line", d="M1 8H33", stroke_dasharray=dash(style)),
        marker(style, 17.0, 8.0),
        class_=f"swatch {series_class(style)}",
        viewBox="0 0 34 16",
        width=34,
        height=16,
        aria_hidden="true",
        focusable="false",
    )


def _strokes(shape: str, x: float, y: float, size: float) -> str:
    if shape == "plus":
        return f"M{x - size:.1f} {y:.1f}h{2 * size:.1f}M{x:.1f} {y - size:.1f}v{2 * size:.1f}"
    arm = size * 0.85
    down, up = f"l{2 * arm:.1f} {2 * arm:.1f}", f"l{2 * arm:.1f} {-2 * arm:.1f}"
    return f"M{x - arm:.1f} {y - arm:.1f}{down}M{x - arm:.1f} {y + arm:.1f}{up}"


def _polygon(shape: str, x: float, y: float, size: float) -> str:
    corners, turn = {
        "square": (4, math.pi / 4),
        "triangle": (3, -math.pi / 2),
        "diamond": (4, 0.0),
        "wedge": (3, math.pi / 2),
    }[shape]
    points = (
        (
            x + 1.2 * size * math.cos(turn + 2 * math.pi * corner / corners),
            y + 1.2 * size * math.sin(turn + 2 * math.pi * corner / corners),
        )
        for corner in range(corners)
    )
    return "M" + "L".join(f"{px:.1f} {py:.1f}" for px, py in points) + "Z"
