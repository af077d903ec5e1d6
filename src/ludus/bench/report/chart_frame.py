"""What charts share: styles of series (never colour alone), outer element, text and axes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from ludus.bench.report.markup import Markup, element, join

__all__ = [
    "FONT",
    "STYLES",
    "AxisScale",
    "chart",
    "dash",
    "domain_of",
    "horizontal_axis",
    "label",
    "marker",
    "series_class",
    "swatch",
    "vertical_axis",
]

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


_BOUND = 1e300  # a difference of two such numbers is still finite
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class AxisScale:
    """Maps ``[low, high]`` to pixels ``[start, stop]``; what lies outside goes to the edge."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        part = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + part * (self.stop - self.start)

    def ticks(self, about: int = 5) -> tuple[tuple[float, str], ...]:
        """Round values inside the domain, roughly so many, each with its label."""
        step = _round_step((self.high - self.low) / max(about, 1))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        values = [index * step for index in range(first, last + 1)]
        size, suffix = _unit(max(map(abs, values), default=0.0))
        return tuple(
            (value, _label(value / size, step / size) + suffix if value else "0")
            for value in values
        )


def domain_of(values: Iterable[float], *, include: Iterable[float] = ()) -> tuple[float, float]:
    """The smallest domain of non-zero width, with a little air, that holds all values."""
    held = [min(max(value, -_BOUND), _BOUND) for value in (*values, *include)]
    low, high = (min(held), max(held)) if held else (0.0, 1.0)
    air = (high - low) * 0.04 or max(abs(high) * 0.1, 0.5)
    return low - air, high + air


def _round_step(raw: float) -> float:
    magnitude = 10.0 ** math.floor(math.log10(raw))
    return next(step * magnitude for step in _STEPS if step * magnitude >= raw * (1 - 1e-9))


def _unit(peak: float) -> tuple[float, str]:
    """One unit for all ticks of an axis, so that they can be compared at a glance."""
    units = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
    return next(((size, letter) for size, letter in units if 10 * size <= peak < 1e13), (1.0, ""))


def _label(value: float, step: float) -> str:
    if abs(value) >= 1e5 or step < 1e-4:
        return f"{value:.3g}"
    decimals = next(places for places in range(6) if math.isclose(round(step, places), step))
    return f"{value:.{decimals}f}"


FONT = 13.0
"""Size of a chart's text, in its own units; charts are shown at nearly their own size."""


def chart(
    key: str,
    parts: Iterable[Markup],
    *,
    width: float,
    height: float,
    title: str,
    description: str,
    class_: str = "",
) -> Markup:
    """A picture with an accessible name and description; ``key`` is unique in the page."""
    return element(
        "svg",
        element("title", title, id=f"{key}-title"),
        element("desc", description, id=f"{key}-desc"),
        join(parts),
        class_=f"chart {class_}".strip(),
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        role="img",
        aria_labelledby=f"{key}-title",
        aria_describedby=f"{key}-desc",
    )


def label(
    text: str, x: float, y: float, *, anchor: str = "start", class_: str | None = None
) -> Markup:
    """A piece of text."""
    return element("text", text, x=x, y=y, text_anchor=anchor, class_=class_)


def horizontal_axis(
    scale: AxisScale, *, top: float, bottom: float, name: str | None = None
) -> list[Markup]:
    """Grid lines, tick labels and the axis' name underneath."""
    room = abs(scale.stop - scale.start)
    ticks = scale.ticks(max(2, int(room // 64)))
    parts = [_line(scale(value), top, scale(value), bottom, "grid") for value, _ in ticks]
    parts += [
        label(text, x, bottom + 17, anchor="middle", class_="tick")
        for x, text in _spaced(ticks, scale)
    ]
    parts.append(_line(scale.start, bottom, scale.stop, bottom, "axis"))
    if name:
        middle = (scale.start + scale.stop) / 2
        parts.append(label(name, middle, bottom + 36, anchor="middle", class_="name"))
    return parts


def vertical_axis(
    scale: AxisScale, *, left: float, right: float, name: str | None = None
) -> list[Markup]:
    """Grid lines, tick labels and the axis' name above, written horizontally."""
    ticks = scale.ticks(max(2, int(abs(scale.stop - scale.start) // 44)))
    parts = [_line(left, scale(value), right, scale(value), "grid") for value, _ in ticks]
    parts += [
        label(text, left - 7, scale(value) + 4.5, anchor="end", class_="tick")
        for value, text in ticks
    ]
    if name:
        parts.append(label(name, 2, min(scale.start, scale.stop) - 12, class_="name"))
    return parts


def _line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return element("path", class_=class_, d=f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}")


def _spaced(ticks: tuple[tuple[float, str], ...], scale: AxisScale) -> list[tuple[float, str]]:
    """Places of those labels that do not touch their neighbours; none sticks out far."""
    kept: list[tuple[float, str]] = []
    edge = float("-inf")
    for value, text in ticks:
        half = len(text) * FONT * 0.34
        x = min(scale(value), scale.stop + 12 - half)
        if x - half >= edge:
            kept.append((x, text))
            edge = x + half + 6
    return kept
