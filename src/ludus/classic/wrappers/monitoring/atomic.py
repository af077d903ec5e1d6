"""Files that are whole or not there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["write_json"]


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as JSON; a reader sees the old file or the new one, never half of it."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    unfinished.write_text(json.dumps(value, default=_plain))
    unfinished.replace(path)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"A {type(value).__name__} cannot be written as JSON.")
