"""The joystick: its actions, its keys, and how far it is pushed."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ludus.core.finite import check_finite, check_finite_batch
from ludus.envs.atari.emulator import import_ale
from ludus.errors import InvalidAction
from ludus.spaces import Box

__all__ = ["action_table", "joystick_space", "keys_of_action", "push"]

_KEYS = (("UP", "w"), ("DOWN", "s"), ("LEFT", "a"), ("RIGHT", "d"), ("FIRE", " "))
# Ordered so that -1 is the last entry, and directions can be used as indices.
_HORIZONTAL = ("", "RIGHT", "LEFT")
_VERTICAL = ("", "UP", "DOWN")


@functools.cache
def action_table() -> np.ndarray[Any, Any]:
    """Return the numbers of the actions, by push to the right, push upwards (-1 to 1), and fire."""
    numbers = {name: action.value for name, action in import_ale().Action.__members__.items()}
    return np.array(
        [
            [[numbers[y + x + fire or "NOOP"] for fire in ("", "FIRE")] for y in _VERTICAL]
            for x in _HORIZONTAL
        ],
        dtype=np.int32,
    )


def joystick_space() -> Box:
    """Return the space of radius, angle and trigger."""
    half_turn = np.float32(np.pi)
    low = np.array([0, -half_turn, 0], dtype=np.float32)
    high = np.array([1, half_turn, 1], dtype=np.float32)
    return Box(low, high, dtype=np.float32)


def push(actions: Any, threshold: float, batch: tuple[int, ...] = ()) -> tuple[Any, Any]:
    """Return number and strength of a continuous action, or of a batch of them.

    Args:
        actions: Radius, angle and trigger, on the last axis.
        threshold: How far the stick or the trigger must be moved to count.
        batch: The shape that comes before the last axis.

    Raises:
        InvalidAction: The actions are not an array of float32, not of the right shape, or not
            finite.
    """
    shape = (*batch, 3)
    if not isinstance(actions, np.ndarray) or actions.dtype != np.float32 or actions.shape != shape:
        kind, found = getattr(actions, "dtype", type(actions).__name__), np.shape(actions)
        raise InvalidAction(
            f"A continuous action is an array of float32 (radius, angle, fire) of shape {shape}; "
            f"got {kind} of shape {found}."
        )
    if batch:
        check_finite_batch(actions, joystick_space())
    else:
        check_finite(actions, joystick_space())
    radius, angle, trigger = actions.T
    right, up = (
        (way > threshold).astype(np.intp) - (way < -threshold)
        for way in (radius * np.cos(angle), radius * np.sin(angle))
    )
    return action_table()[right, up, (trigger > threshold).astype(np.intp)], radius


def keys_of_action(name: str) -> tuple[str, ...]:
    """Return the keys that a player holds for an action: w, a, s, d, space, or e for none."""
    return tuple(key for part, key in _KEYS if part in name) or ("e",)
