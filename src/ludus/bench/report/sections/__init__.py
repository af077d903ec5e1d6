"""The parts of a report, one per file; each turns facts into a section of the document."""

from __future__ import annotations

__all__: list[str] = []
