"""The one place that imports pyarrow."""

from __future__ import annotations

from typing import Any

from ludus.distribution import pip_install
from ludus.errors import DependencyNotInstalled

__all__ = ["load_pyarrow"]


def load_pyarrow() -> tuple[Any, Any]:
    """Return the modules ``pyarrow`` and ``pyarrow.parquet``.

    Raises:
        DependencyNotInstalled: They are missing.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as problem:
        raise DependencyNotInstalled(
            f"Parquet files need pyarrow, which is not installed; run `{pip_install('parquet')}`"
        ) from problem
    return pyarrow, pyarrow.parquet
