"""Files that are whole or not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ludus.atomic import write_whole

__all__ = ["write_json"]


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as JSON; a reader sees the old file or the new one, never half of it."""
    write_whole(path, json.dumps(value, default=_plain).encode(), durable=False)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"A {type(value).__name__} cannot be written as JSON.")
