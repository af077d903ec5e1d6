"""Size limits of a run folder's parts, so that no writer decides what its reader spends.

The writer keeps to them too: what it writes can be read.
"""

from __future__ import annotations

__all__ = [
    "MAX_BLOCK_BYTES",
    "MAX_COLUMNS",
    "MAX_FILES",
    "MAX_FILE_BYTES",
    "MAX_HASHED_BYTES",
    "MAX_LINE_BYTES",
    "MAX_REPLAY_SECONDS",
    "MAX_TABLE_BYTES",
]

MAX_LINE_BYTES = 2**22
"""One event, or the manifest."""
MAX_BLOCK_BYTES = 2**28
"""A block as stored, and all its columns as arrays."""
MAX_COLUMNS = 256
"""Columns of a block."""
MAX_TABLE_BYTES = 2**18
"""The table of a block's columns."""
MAX_FILES = 100_000
"""Free files of a run."""
MAX_FILE_BYTES = 2**36
"""One free file."""
MAX_HASHED_BYTES = 2**32
"""All free files that a check reads, unless its caller says otherwise; they may be holes."""
MAX_REPLAY_SECONDS = 3600.0
"""Executing a recording again in a check, unless its caller says otherwise; many rows that are all
the same take its maker no room."""
