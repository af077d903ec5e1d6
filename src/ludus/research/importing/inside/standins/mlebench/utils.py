"""Helpers for data preparation."""

from __future__ import annotations

import logging
import zipfile
from pathlib import Path
from typing import Any

__all__ = ["extract", "get_logger", "read_csv"]


def get_logger(name: str) -> logging.Logger:
    """Return a logger."""
    return logging.getLogger(name)


def read_csv(*arguments: Any, **options: Any) -> Any:
    """Return a table, read by pandas."""
    import pandas as pd  # type: ignore[import-untyped]

    return pd.read_csv(*arguments, **options)


def extract(archive: str | Path, target: str | Path, recursive: bool = False) -> None:
    """Unpack a zip archive into a folder; with ``recursive``, archives in it as well."""
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(target)
    if recursive:
        for path in sorted(Path(target).rglob("*.zip")):
            extract(path, path.with_suffix(""), recursive=True)
