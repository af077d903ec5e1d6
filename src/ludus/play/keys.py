"""Mapping of keys to actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from ludus.core.env import Env
from ludus.errors import Error

__all__ = ["KeyCodes", "MissingKeysToAction", "key_codes_to_action", "own_keys_to_action"]

KeyCodes: TypeAlias = tuple[int, ...]
"""The sorted codes of keys that are pressed together."""


class MissingKeysToAction(Error):
    """Neither the environment nor the caller provides a mapping of keys to actions."""


def own_keys_to_action(env: Env[Any, Any]) -> Any:
    """Return the result of the environment's ``get_keys_to_action()``.

    Raises:
        MissingKeysToAction: The environment has no such method.
    """
    if not env.has_wrapper_attr("get_keys_to_action"):
        name = env if env.spec is None else env.spec.id
        raise MissingKeysToAction(
            f"{name} does not have explicit key to action mapping, please specify one manually: "
            "play(env, keys_to_action={'a': 0, 'd': 1})."
        )
    return env.get_wrapper_attr("get_keys_to_action")()


def key_codes_to_action(keys_to_action: Any, env: Env[Any, Any]) -> dict[KeyCodes, Any]:
    """Return the mapping with every key combination as sorted key codes.

    A combination is a key code, a string with one character per key, or a tuple of both.

    Raises:
        TypeError: The mapping is not a dict, or a key has another type.
        ValueError: A tuple is empty, or an action is not in the action space.
    """
    check_mapping(keys_to_action)
    codes: dict[KeyCodes, Any] = {}
    for keys, action in keys_to_action.items():
        _check_combination(keys)
        if action not in env.action_space:
            raise ValueError(
                f"Action {action} of the keys {keys!r} is not a valid action in the environment "
                f"action space: {env.action_space}."
            )
        parts = (keys,) if isinstance(keys, int) else keys
        codes[tuple(sorted(ord(key) if isinstance(key, str) else key for key in parts))] = action
    return codes


def check_mapping(keys_to_action: Any) -> Mapping[Any, Any]:
    """Return the mapping if it is a dict, else raise :class:`TypeError`."""
    if not isinstance(keys_to_action, dict):
        raise TypeError(f"keys_to_action must be a dictionary, got {type(keys_to_action)}")
    return keys_to_action


def _check_combination(keys: Any) -> None:
    if isinstance(keys, tuple):
        if not keys:
            raise ValueError("Key combinations in keys_to_action tuples cannot be empty")
        if not all(isinstance(key, str | int) for key in keys):
            raise TypeError(
                f"All keys in key combination tuple must be integers or strings, got {keys}"
            )
        if any(isinstance(key, str) and len(key) != 1 for key in keys):
            raise TypeError(
                f"Strings in a tuple of keys must be single characters, got {keys}; write "
                "('a', 'b') or 'ab' for two keys."
            )
    elif not isinstance(keys, str | int):
        raise TypeError(f"Keys in keys_to_action must be integers or strings, got {type(keys)}")
