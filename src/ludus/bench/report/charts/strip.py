"""A strip small enough for a table's cell: every run as a tick, mean and interval above them."""

from __future__ import annotations

from collections.abc import Sequence

from ludus.bench.report.charts.scale import AxisScale
from ludus.bench.report.charts.style import marker, series_class
from ludus.bench.report.markup import Markup, element

__all__ = ["strip"]

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
