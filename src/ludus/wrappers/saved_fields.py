"""Saving of wrapper attributes that ``state_fields`` does not support."""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar

from ludus.core import State
from ludus.core.state import copy_plain
from ludus.errors import StateError

__all__ = ["SavesObjects", "take_fields"]


class SavesObjects:
    """Mix-in that adds deques, running statistics and required values to the saved state."""

    saved_objects: ClassVar[tuple[str, ...]] = ()
    """Names of the attributes; unlike those in ``state_fields`` they must be in a loaded state."""

    def _save_state(self) -> State:
        fields: State = super()._save_state()  # type: ignore[misc]
        for name in self.saved_objects:
            value = getattr(self, name)
            if hasattr(value, "get_state"):
                fields[name] = value.get_state()
            else:
                fields[name] = copy_plain(list(value) if isinstance(value, deque) else value, name)
        return fields

    def _load_state(self, fields: State) -> None:
        saved, rest = take_fields(self, fields, *self.saved_objects)
        super()._load_state(rest)  # type: ignore[misc]
        for name, value in zip(self.saved_objects, saved, strict=True):
            target = getattr(self, name)
            if isinstance(target, deque):
                target.clear()
                target.extend(value)
            elif hasattr(target, "set_state"):
                target.set_state(value)
            else:
                setattr(self, name, value)


def take_fields(owner: object, fields: State, *names: str) -> tuple[list[Any], State]:
    """Return copies of the named fields, in that order, and the remaining fields.

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
