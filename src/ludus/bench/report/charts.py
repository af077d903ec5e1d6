"""Charts as SVG: dots with whiskers, and lines with bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ludus.bench.report.chart_frame import (
    FONT,
    STYLES,
    AxisScale,
    chart,
    dash,
    domain_of,
    horizontal_axis,
    label,
    marker,
    series_class,
    vertical_axis,
)
from ludus.bench.report.markup import Markup, element
from ludus.bench.report.text import ratio, shorten_to_width, width_of
from ludus.terminal_text import visible

__all__ = ["Axis", "Line", "Panel", "Row", "interval_chart", "line_chart", "strip"]

_ROWS_TOP, _AXIS, _EDGE, _GAP = 30.0, 28.0, 14.0, 24.0
_NAMES = (40.0, 300.0)
_TOLD = 8


@dataclass(frozen=True, slots=True)
class Row:
    """A value with its interval, where there is one, and the style of its series."""

    name: str
    value: float
    low: float | None
    high: float | None
    style: int


@dataclass(frozen=True, slots=True)
class Panel:
    """A measure; all panels of a chart have the same rows.

    Attributes:
        title: What is measured.
        rows: The rows.
        include: Values the axis must hold.
        reference: A value marked by a line across all rows.
    """

    title: str
    rows: tuple[Row, ...]
    include: tuple[float, ...] = ()
    reference: float | None = None


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where things go: names beside their rows, once per line of panels, or above each row."""

    width: float
    columns: int
    names: float
    step: float

    def place(self, index: int, rows: int) -> tuple[float, float, float]:
        """Left, right and top of a panel."""
        line, column = divmod(index, self.columns)
        cell = (self.width - self.names - (self.columns - 1) * _GAP) / self.columns
        left = self.names + column * (cell + _GAP)
        return left, left + cell, line * self.height(rows)

    def height(self, rows: int) -> float:
        """Of a panel with so many rows."""
        return _ROWS_TOP + rows * self.step + _AXIS + 8


def interval_chart(
    key: str, panels: Sequence[Panel], *, width: float, title: str, class_: str, columns: int = 1
) -> Markup:
    """Panels in so many columns; a wide chart has its names at the left, a narrow one above."""
    rows = panels[0].rows
    layout = _Layout(width, columns, 0.0, 46.0)
    if class_ == "wide":
        longest = max(width_of(visible(row.name)) for row in rows) * FONT + 12
        layout = _Layout(width, columns, min(max(longest, _NAMES[0]), _NAMES[1]), 30.0)
    parts: list[Markup] = []
    for index, panel in enumerate(panels):
        left, right, top = layout.place(index, len(rows))
        if layout.names and index % columns == 0:
            parts += _names(rows, top, layout)
        parts += _panel(panel, left, right, top, layout)
    return chart(
        key,
        parts,
        width=width,
        height=-(-len(panels) // columns) * layout.height(len(rows)),
        title=title,
        description="; ".join(map(_described, panels)),
        class_=class_,
    )


def _names(rows: Sequence[Row], top: float, layout: _Layout) -> list[Markup]:
    return [
        label(
            shorten_to_width(row.name, layout.names / FONT - 0.5),
            layout.names - 2,
            top + _ROWS_TOP + (index + 0.5) * layout.step + 4.5,
            anchor="end",
            class_="row",
        )
        for index, row in enumerate(rows)
    ]


def _panel(panel: Panel, left: float, right: float, top: float, layout: _Layout) -> list[Markup]:
    bottom = top + _ROWS_TOP + len(panel.rows) * layout.step
    ends = [end for row in panel.rows for end in (row.value, row.low, row.high) if end is not None]
    scale = AxisScale(*domain_of(ends, include=panel.include), left + _EDGE, right - _EDGE)
    start = left + (_EDGE if layout.names else 0.0)
    parts = [label(panel.title, start, top + 16, class_="heading")]
    parts += horizontal_axis(scale, top=top + _ROWS_TOP - 4, bottom=bottom)
    if panel.reference is not None:
        line = f"M{scale(panel.reference):.1f} {top + _ROWS_TOP - 4:.1f}V{bottom:.1f}"
        parts.append(element("path", class_="reference", d=line))
    for index, row in enumerate(panel.rows):
        y = top + _ROWS_TOP + (index + 0.5) * layout.step
        if not layout.names:
            shown = shorten_to_width(row.name, (right - left) / FONT - 0.4)
            parts.append(label(shown, left, y - 7, class_="row"))
            y += 10
        parts.append(_whisker(row, scale, y))
    return parts


def _whisker(row: Row, scale: AxisScale, y: float) -> Markup:
    parts = [element("title", f"{row.name}: {_told(row)}")]
    if row.low is not None and row.high is not None:
        low, high = scale(row.low), scale(row.high)
        parts.append(element("path", class_="whisker", d=f"M{low:.1f} {y:.1f}H{high:.1f}"))
        caps = f"M{low:.1f} {y - 6:.1f}v12M{high:.1f} {y - 6:.1f}v12"
        parts.append(element("path", class_="cap", d=caps))
    parts.append(marker(row.style, scale(row.value), y, 4.0))
    return element("g", *parts, class_=f"series {series_class(row.style)}")


def _told(row: Row) -> str:
    if row.low is None or row.high is None:
        return f"{ratio(row.value)}, no interval"
    return f"{ratio(row.value)}, {ratio(row.low)} to {ratio(row.high)}"


def _described(panel: Panel) -> str:
    told = ", ".join(f"{row.name} {_told(row)}" for row in panel.rows[:_TOLD])
    more = len(panel.rows) - _TOLD
    return f"{panel.title}: {told}" + (f" and {more} more" if more > 0 else "")


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
