"""Lines with bands: performance profiles and learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ludus.bench.report.charts.frame import FONT, AxisScale, chart, horizontal_axis, vertical_axis
from ludus.bench.report.charts.style import STYLES, dash, marker, series_class
from ludus.bench.report.markup import Markup, element

__all__ = ["Axis", "Line", "line_chart", "strip"]


_RIGHT, _TOP, _BOTTOM = 14.0, 34.0, 44.0
_MARKS = 5
_DIGIT_EM = 0.66


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: what it measures and from where to where."""

    name: str
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Line:
    """A line over ``x`` with, where there is one, its band between ``low`` and ``high``."""

    name: str
    style: int
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


def line_chart(
    key: str,
    lines: Sequence[Line],
    *,
    width: float,
    height: float,
    x: Axis,
    y: Axis,
    title: str,
    description: str,
    class_: str = "",
) -> Markup:
    """Lines in one frame, bands underneath; marks are staggered so that they do not meet."""
    bottom = height - _BOTTOM
    vertical = AxisScale(y.low, y.high, bottom, _TOP)
    longest = max(len(text) for _, text in vertical.ticks(max(2, int((bottom - _TOP) // 44))))
    left = 12 + longest * FONT * _DIGIT_EM
    horizontal = AxisScale(x.low, x.high, left, width - _RIGHT)
    parts = vertical_axis(vertical, left=left, right=width - _RIGHT, name=y.name)
    parts += horizontal_axis(horizontal, top=_TOP, bottom=bottom, name=x.name)
    parts += [_band(line, horizontal, vertical) for line in lines if line.low is not None]
    parts += [
        _line(line, horizontal, vertical, stagger=index / max(len(lines), 1))
        for index, line in enumerate(lines)
    ]
    return chart(
        key, parts, width=width, height=height, title=title, description=description, class_=class_
    )


def _band(line: Line, horizontal: AxisScale, vertical: AxisScale) -> Markup:
    upper = _path(line.x, line.high or (), horizontal, vertical)
    lower = _path(line.x[::-1], (line.low or ())[::-1], horizontal, vertical)
    return element("path", class_=f"band {series_class(line.style)}", d=f"M{upper}L{lower}Z")


def _line(line: Line, horizontal: AxisScale, vertical: AxisScale, stagger: float) -> Markup:
    path = _path(line.x, line.y, horizontal, vertical)
    parts = [element("title", line.name)]
    parts.append(element("path", class_="line", d=f"M{path}", stroke_dasharray=dash(line.style)))
    if line.style < STYLES:
        last = len(line.x) - 1
        spots = {round(last * (spot + 0.15 + 0.7 * stagger) / _MARKS) for spot in range(_MARKS)}
        parts += [
            marker(line.style, horizontal(line.x[spot]), vertical(line.y[spot]), 3.8)
            for spot in sorted(spots)
        ]
    return element("g", *parts, class_=f"series {series_class(line.style)}")


def _path(
    x: Sequence[float], y: Sequence[float], horizontal: AxisScale, vertical: AxisScale
) -> str:
    return "L".join(f"{horizontal(px):.1f} {vertical(py):.1f}" for px, py in zip(x, y, strict=True))


_WIDTH, _HEIGHT = 180.0, 22.0
_TICKS = 60


def strip(
    scores: Sequence[float],
    mean: float,
    low: float | None,
    high: float | None,
    *,
    domain: tuple[float, float],
    style: int,
) -> Markup:
    """The runs' scores on the domain shared by the table; the numbers stand in the same row."""
    scale = AxisScale(*domain, 7.0, _WIDTH - 7.0)
    step = -(-len(scores) // _TICKS) or 1
    ticks = "".join(f"M{scale(score):.1f} 6v10" for score in sorted(scores)[::step])
    parts = [element("path", class_="base", d=f"M0 11H{_WIDTH:.0f}")]
    parts.append(element("path", class_="runs", d=ticks))
    if low is not None and high is not None:
        parts.append(element("path", class_="whisker", d=f"M{scale(low):.1f} 11H{scale(high):.1f}"))
    parts.append(marker(style, scale(mean), 11.0, 4.2))
    return element(
        "svg",
        *parts,
        class_=f"strip {series_class(style)}",
        viewBox=f"0 0 {_WIDTH:.0f} {_HEIGHT:.0f}",
        width=180,
        height=22,
        aria_hidden="true",
        focusable="false",
    )
