"""JSON that has one meaning: an object with a key twice means different things to its readers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

__all__ = ["read_json"]


def read_json(text: str, *, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """Return the value that a JSON text stands for.

    Args:
        text: The JSON.
        parse_constant: Is called with NaN, Infinity or -Infinity; by default they are floats.

    Raises:
        ValueError: It is no JSON, or has a key twice in an object.
        RecursionError: It is nested too deep.
    """
    return json.loads(text, object_pairs_hook=_unique, parse_constant=parse_constant)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    seen = set()
    for key, _ in pairs:
        if key in seen:
            break
        seen.add(key)
    raise ValueError(f"the key {key!r:.60} occurs twice in an object")
