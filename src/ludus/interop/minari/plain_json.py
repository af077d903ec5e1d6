"""JSON texts that need not be trusted."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["MAX_BYTES", "parse_json"]

MAX_BYTES = 2**24


def parse_json(text: Any) -> Any:
    """Return the value of a JSON text; infinities are allowed, as Minari writes them.

    Raises:
        ValueError: It is no JSON, too long or nested too deeply.
    """
    if not isinstance(text, str | bytes) or len(text) > MAX_BYTES:
        raise ValueError(f"it is no text of at most {MAX_BYTES} bytes")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
