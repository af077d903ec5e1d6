"""State of wrappers that keep more than plain attributes."""

from __future__ import annotations

from typing import Any

from ludus.core import State
from ludus.core.state import copy_plain
from ludus.errors import StateError

__all__ = ["take_fields"]


def take_fields(owner: object, fields: State, *names: str) -> tuple[list[Any], State]:
    """Return copies of the named fields, in that order, and the fields that are left.

    Raises:
        StateError: A field is missing.
    """
    missing = [name for name in names if name not in fields]
    if missing:
        raise StateError(
            f"The state lacks the fields {missing} of {type(owner).__name__}; it has "
            f"{sorted(fields)}. Was it taken from another version?"
        )
    taken = [copy_plain(fields[name], name) for name in names]
    return taken, {name: value for name, value in fields.items() if name not in names}
