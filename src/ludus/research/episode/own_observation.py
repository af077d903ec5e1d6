"""Observations of tasks with a class of their own, in the form that every agent understands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from ludus.core.state import copy_plain
from ludus.errors import StateError, TaskError
from ludus.research.episode.observation import Observation, observation_space
from ludus.spaces import Dict, Space

__all__ = ["OpenDict", "merged", "own_parts"]

_KEYS = frozenset(observation_space(1).spaces)


class OpenDict(Space[dict[str, Any]]):
    """Dicts that have the keys of a dict space and may have others, with any plain data."""

    def __init__(self, known: Dict) -> None:
        super().__init__(None, None)
        self.known = known
        self.spaces = known.spaces

    @property
    def is_np_flattenable(self) -> bool:
        """Never: nothing is known of the further keys."""
        return False

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> dict[str, Any]:
        """Draw a member without further keys."""
        return self.known.sample(mask, probability)

    def seed(self, seed: Any = None) -> Any:
        """Seed the known keys."""
        return self.known.seed(seed)

    def contains(self, x: Any) -> bool:
        """Whether the known keys have members of their spaces."""
        if not isinstance(x, dict):
            return False
        return self.known.contains({key: value for key, value in x.items() if key in self.spaces})

    def __repr__(self) -> str:
        return f"OpenDict({self.known!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpenDict) and self.known == other.known

    __hash__ = None  # type: ignore[assignment]


def merged(own: Observation, given: Any, space: Dict | OpenDict) -> Observation:
    """Return the environment's observation with what a task returned in its place.

    ``None`` changes nothing. A text is the ``output``. Entries of a mapping replace those of the
    same name, and others are added; unless there is an ``output`` among them, it shows the added
    ones as text. Anything else is added as ``observation`` and shown in the same way.

    Raises:
        TaskError: An entry is not plain data, or not what the environment's space holds.
    """
    if given is None or given is own:
        return own
    if isinstance(given, str):
        given = {"output": given}
    elif not isinstance(given, Mapping):
        given = {"observation": given}
    try:
        told = {str(key): copy_plain(value) for key, value in given.items()}
    except (StateError, TypeError, ValueError) as problem:
        raise TaskError(
            f"The task returned an observation that is not plain data: {problem} Return a text, or "
            "a dict of texts, numbers, lists, dicts and arrays."
        ) from problem
    added = {key: value for key, value in told.items() if key not in _KEYS}
    if added and "output" not in told:
        told["output"] = "".join(f"{key}: {_text(value)}\n" for key, value in added.items())
    made = {**own, **told}
    for key, part in space.spaces.items():
        if key in told:
            made[key] = _fitted(key, told[key], own[key])
            if not part.contains(made[key]):
                raise TaskError(
                    f"The task returned an observation whose {key!r} is {made[key]!r:.80}; "
                    f"expected a member of {part!r}."
                )
    return made


def own_parts(observation: Observation) -> dict[str, Any]:
    """Return what a task has added to an observation, as JSON holds it."""
    return {key: _json(value) for key, value in observation.items() if key not in _KEYS}


def _fitted(key: str, value: Any, like: Any) -> Any:
    """Return a number as the space has it."""
    if isinstance(like, str) or isinstance(value, str):
        return value
    try:
        made = np.asarray(value, like.dtype)
        return made[()] if isinstance(like, np.generic) else made
    except (TypeError, ValueError) as problem:
        raise TaskError(
            f"The task returned an observation whose {key!r} is {value!r:.80}; expected a number."
        ) from problem


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(_json(value), ensure_ascii=False)


def _json(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, Mapping):
        return {str(key): _json(one) for key, one in value.items()}
    return [_json(one) for one in value] if isinstance(value, list | tuple) else value
