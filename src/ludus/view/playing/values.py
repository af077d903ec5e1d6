"""Actions that were typed: JSON as a value of a space."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.errors import Error
from ludus.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Text, Tuple

__all__ = ["typed_action"]


def typed_action(space: Space[Any], value: Any) -> Any:
    """Return a JSON value as a member of a space.

    Raises:
        Error: It is none; the message says what is expected.
    """
    try:
        found = _converted(space, value)
        fits = space.contains(found)
    except (TypeError, ValueError, KeyError, OverflowError):
        fits = False
    if not fits:
        raise Error(f"{value!r:.100} is no action; expected is a value of {space!s:.200}.")
    return found


def _converted(space: Space[Any], value: Any) -> Any:
    if isinstance(space, Discrete):
        if type(value) is not int:
            raise TypeError(value)
        return value
    if isinstance(space, Box | MultiDiscrete | MultiBinary):
        return np.array(value, space.dtype).reshape(space.shape)
    if isinstance(space, Tuple):
        return tuple(_converted(*pair) for pair in zip(space.spaces, value, strict=True))
    if isinstance(space, Dict):
        return {key: _converted(part, value[key]) for key, part in space.spaces.items()}
    if isinstance(space, Text):
        return str(value)
    return value
