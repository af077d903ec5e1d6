"""Shared code of the exporters: rows, episodes and atomic output."""

from __future__ import annotations

from ludus.interop.recordings.draft import whole_file, whole_folder
from ludus.interop.recordings.recomputed import recomputed_rows
from ludus.interop.recordings.rows import (
    IMPORTED,
    Progress,
    Rows,
    Segment,
    Segments,
    Shape,
    row_texts,
    shape_of,
    stored_rows,
)

__all__ = [
    "IMPORTED",
    "Progress",
    "Rows",
    "Segment",
    "Segments",
    "Shape",
    "recomputed_rows",
    "row_texts",
    "shape_of",
    "stored_rows",
    "whole_file",
    "whole_folder",
]
