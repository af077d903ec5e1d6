"""Which keys mean which actions: from the environment, from a table, or from its action space.

Keys have the names of browsers, in lower case and without "arrow": ``left``, ``space``, ``w``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from ludus.core.env import Env
from ludus.spaces import Box, Discrete

__all__ = ["Controls", "controls_of"]

_SPECIAL = {
    276: "left",
    275: "right",
    273: "up",
    274: "down",
    32: "space",
    13: "enter",
    1073741904: "left",
    1073741903: "right",
    1073741906: "up",
    1073741905: "down",
}
"""Codes of pygame, version 1 and 2."""
_ARROWS = {"w": "up", "a": "left", "s": "down", "d": "right"}
_WALK = {"up": 0, "right": 1, "down": 2, "left": 3}
_TABLE: tuple[tuple[str, dict[str, int], int | None], ...] = (
    ("CartPole*", {"left": 0, "right": 1}, None),
    ("phys2d/CartPole*", {"left": 0, "right": 1}, None),
    ("tabular/CliffWalking*", _WALK, None),
    ("Acrobot*", {"left": 0, "down": 1, "right": 2}, 1),
    ("FrozenLake*", {"left": 0, "down": 1, "right": 2, "up": 3}, None),
    ("CliffWalking*", _WALK, None),
    ("FourRooms*", _WALK, None),
    ("MetaMaze*", _WALK, None),
    ("Taxi*", {"down": 0, "up": 1, "right": 2, "left": 3, "p": 4, "d": 5}, None),
    ("*Blackjack*", {"s": 0, "h": 1}, None),
    ("LunarLander*", {"left": 1, "up": 2, "right": 3}, 0),
    ("Maze/*", {"left": 0, "right": 1, "up": 2, "p": 3, "d": 4, "space": 5, "enter": 6}, None),
    ("MinAtar/*-v0", {"left": 1, "up": 2, "right": 3, "down": 4, "space": 5}, 0),
)
"""For environments that do not tell their keys: pattern of the id, keys, action without a key."""
_AXES = (("left", "right"), ("down", "up"), ("a", "d"), ("s", "w"), ("j", "l"), ("k", "i"))
_DIGITS = "1234567890"
_MOST_BUTTONS = 40


@dataclass(frozen=True, slots=True)
class Controls:
    """How keys become actions.

    Attributes:
        actions: By the keys that are pressed together.
        noop: The action without a key; ``None`` if every action does something.
        labels: What each combination is called.
        axes: For continuous actions: index and value of the component that a key sets.
    """

    actions: Mapping[frozenset[str], Any]
    noop: Any
    labels: Mapping[frozenset[str], str]
    axes: Mapping[str, tuple[int, float]]

    def action(self, pressed: Iterable[str]) -> Any:
        """Return the action of the pressed keys, ``None`` if there is none."""
        keys = frozenset(pressed)
        if self.axes:
            action = np.array(self.noop)
            for key in keys & self.axes.keys():
                index, value = self.axes[key]
                action[index] = value
            return action if keys & self.axes.keys() else None
        if keys in self.actions:
            return self.actions[keys]
        # Of keys that mean nothing together, the largest part that does.
        for known in sorted(self.actions, key=len, reverse=True):
            if known and known <= keys:
                return self.actions[known]
        return None

    def keys(self) -> list[str]:
        """Return all keys that mean something."""
        return sorted({*self.axes, *(key for keys in self.actions for key in keys)})

    def buttons(self) -> list[dict[str, Any]]:
        """Return the buttons of the page: keys and label, one for each action."""
        if self.axes:
            told = {}
            for key, (index, value) in self.axes.items():
                told[key] = f"component {index} {'+' if value > 0 else '−'}"
            return [{"keys": [key], "label": label} for key, label in told.items()]
        # One for each action: arrows rather than the letters that mean the same.
        made = {
            str(action): {"keys": sorted(keys), "label": self.labels.get(keys, str(action))}
            for keys, action in self.actions.items()
            if keys
        }
        return list(made.values())[:_MOST_BUTTONS]


def controls_of(env: Env[Any, Any], env_id: str) -> Controls:
    """Return the controls of an environment; without any, if its actions have to be typed."""
    names = _meanings(env)
    own = _own(env)
    if own:
        labels = {keys: _label(action, names) for keys, action in own.items()}
        return Controls(own, own.get(frozenset()), labels, {})
    space = env.action_space
    if isinstance(space, Discrete):
        return _discrete(space, env_id, names)
    if isinstance(space, Box) and len(space.shape) == 1 and 0 < space.shape[0] <= len(_AXES):
        return _continuous(space, env_id)
    return Controls({}, None, {}, {})


def _own(env: Env[Any, Any]) -> dict[frozenset[str], Any]:
    """Return what ``get_keys_to_action`` says; nothing if there is no such method, or it fails."""
    if not env.has_wrapper_attr("get_keys_to_action"):
        return {}
    try:
        given = env.get_wrapper_attr("get_keys_to_action")()
    except (AttributeError, LookupError, NotImplementedError):
        return {}
    if not isinstance(given, Mapping):
        return {}
    found: dict[frozenset[str], Any] = {}
    for combination, action in given.items():
        parts = (combination,) if isinstance(combination, int) else tuple(combination)
        keys = frozenset(map(_name_of, parts))
        # The key for doing nothing is what happens without a key.
        found[frozenset() if keys == {"e"} else keys] = action
    letters = set().union(*found) if found else set()
    if letters & _ARROWS.keys() and not letters & set(_ARROWS.values()):
        found |= {frozenset(_ARROWS.get(k, k) for k in keys): a for keys, a in found.items()}
    return found


def _name_of(key: int | str) -> str:
    if isinstance(key, str):
        return {" ": "space"}.get(key, key.lower())
    return _SPECIAL.get(key) or (chr(key).lower() if 32 < key < 127 else str(key))


def _meanings(env: Env[Any, Any]) -> list[str]:
    if env.has_wrapper_attr("get_action_meanings"):
        return [str(name).lower() for name in env.get_wrapper_attr("get_action_meanings")()]
    return []


def _label(action: Any, names: list[str]) -> str:
    return names[action] if isinstance(action, int) and 0 <= action < len(names) else str(action)


def _discrete(space: Discrete, env_id: str, names: list[str]) -> Controls:
    start, count = int(space.start), int(space.n)
    for pattern, keys, noop in _TABLE:
        if fnmatchcase(env_id, pattern) and max(keys.values()) < count:
            actions: dict[frozenset[str], Any] = {frozenset([key]): a for key, a in keys.items()}
            return Controls(actions, noop, {}, {})
    if count > len(_DIGITS):
        return Controls({}, None, {}, {})
    actions = {frozenset([_DIGITS[i]]): start + i for i in range(count)}
    return Controls(actions, None, {k: _label(a, names) for k, a in actions.items()}, {})


def _continuous(space: Box, env_id: str) -> Controls:
    low, high = space.low.astype(float), space.high.astype(float)
    rest = np.clip(np.zeros(space.shape), low, high).astype(space.dtype)
    axes: dict[str, tuple[int, float]] = {}
    if env_id.startswith("CarRacing"):
        axes = {"left": (0, -1.0), "right": (0, 1.0), "up": (1, 1.0), "down": (2, 0.8)}
        return Controls({}, rest, {}, axes)
    for index in range(space.shape[0]):
        for key, bound in zip(_AXES[index], (low[index], high[index]), strict=True):
            value = float(bound) if math.isfinite(bound) else math.copysign(1.0, bound)
            if value != rest[index]:
                axes[key] = (index, value)
    return Controls({}, rest, {}, axes)
