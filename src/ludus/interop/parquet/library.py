"""The one place that imports pyarrow."""

from __future__ import annotations

from typing import Any

from ludus.optional import require

__all__ = ["load_pyarrow"]


def load_pyarrow() -> tuple[Any, Any]:
    """Return the modules ``pyarrow`` and ``pyarrow.parquet``.

    Raises:
        DependencyNotInstalled: They are missing.
    """
    pyarrow = require("pyarrow", extra="parquet", purpose="A Parquet file")
    return pyarrow, require("pyarrow.parquet", extra="parquet", purpose="A Parquet file")
