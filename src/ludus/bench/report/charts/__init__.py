"""Charts as SVG, drawn by plain Python; colours come from the page's style sheet."""

from __future__ import annotations

__all__: list[str] = []
