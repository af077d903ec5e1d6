"""Series of numbers as a small SVG picture, for pages without scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

__all__ = ["line_picture"]

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 560, 150, 56, 20, 8
_MOST_LINES, _MOST_POINTS = 6, 600
_CLASSES = ("line", "line two", "line three", "line four", "line five", "line six")


def line_picture(
    steps: Sequence[int], lines: Mapping[str, Sequence[float | None]], title: str
) -> Markup:
    """Return the first lines as SVG, scaled to what they have in common."""
    chosen = list(lines.values())[:_MOST_LINES]
    known = [value for line in chosen for value in line if value is not None]
    if not known or not steps:
        return Markup("")
    low, high = min(known), max(known)
    if low == high:
        low, high = low - 1, high + 1
    width = (_WIDTH - _LEFT - 6) / max(1, steps[-1] - steps[0])
    scale = (_HEIGHT - _BOTTOM - _TOP) / (high - low)

    def path(line: Sequence[float | None]) -> str:
        stride = max(1, len(line) // _MOST_POINTS)
        pieces, pen = [], "M"
        for step, value in list(zip(steps, line, strict=True))[::stride]:
            if value is None:
                pen = "M"
                continue
            x = _LEFT + (step - steps[0]) * width
            y = _HEIGHT - _BOTTOM - (value - low) * scale
            pieces.append(f"{pen}{x:.1f} {y:.1f}")
            pen = "L"
        return "".join(pieces)

    inner = Markup("").join(
        Markup('<path class="{}" d="{}"/>').format(name, path(line))
        for name, line in zip(_CLASSES, chosen, strict=False)
    )
    words = Markup(
        '<text x="{x}" y="{top}" text-anchor="end">{high}</text>'
        '<text x="{x}" y="{low_y}" text-anchor="end">{low}</text>'
        '<text x="{left}" y="{base}">{first}</text>'
        '<text x="{right}" y="{base}" text-anchor="end">{last}</text>'
    ).format(
        x=_LEFT - 6, top=_TOP + 9, high=f"{high:.4g}", low_y=_HEIGHT - _BOTTOM, low=f"{low:.4g}",
        left=_LEFT, right=_WIDTH - 6, base=_HEIGHT - 4, first=steps[0], last=steps[-1],
    )  # fmt: skip
    return Markup(
        '<svg class="curve" viewBox="0 0 {} {}" role="img" aria-label="{}">{}{}</svg>'
    ).format(_WIDTH, _HEIGHT, title, inner, words)
