"""Observations as text for a language model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ludus.core import Env
from ludus.errors import CustomSpaceError
from ludus.research.agents.prompts import observation_prompt, plain, task_prompt
from ludus.research.episode.actions import ActionSpace
from ludus.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Sequence, Space, Text
from ludus.spaces import Tuple as TupleSpace
from ludus.terminal_text import escaped

__all__ = ["MOST_NUMBERS", "Teller"]

MOST_NUMBERS = 1024
"""Of an observation that is told as text."""

_ARRAYS = (Box, MultiBinary, MultiDiscrete)


class Teller:
    """Tells the observations of an environment.

    If the environment was made with ``render_mode="ansi"``, its picture comes before each
    observation. A picture may show what observations do not hold.

    Raises:
        CustomSpaceError: Observations are no text, or have too many numbers.
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        self._env = env
        self.is_research = isinstance(env.action_space, ActionSpace)
        if not self.is_research:
            _check(env.observation_space, env.observation_space)

    def first(self, observation: Any) -> str:
        """Return the text of the first observation; that of a research task has the task in it."""
        if self.is_research:
            return f"{task_prompt(observation)}\n\n{observation_prompt(observation)}"
        return self.next(observation)

    def next(self, observation: Any) -> str:
        """Return the text of an observation."""
        if self.is_research:
            return observation_prompt(observation)
        told = f"Observation: {_told(self._env.observation_space, observation)}"
        picture = self._env.render() if self._env.render_mode == "ansi" else None
        return f"{_without_colours(picture)}\n{told}" if isinstance(picture, str) else told


def _without_colours(picture: str) -> str:
    """Return a picture in which coloured parts stand in brackets, as models see no colours."""
    text, out, coloured = picture.strip("\n"), "", False
    while text:
        before, escape, rest = text.partition("\x1b[")
        out += before
        if not escape:
            break
        codes, end, text = rest.partition("m")
        if not end:
            return escaped(picture)
        was, coloured = coloured, codes.strip("0;") != ""
        out += "" if was == coloured else "[" if coloured else "]"
    return out


def _check(space: Space[Any], whole: Space[Any]) -> None:
    if isinstance(space, Dict | TupleSpace):
        parts = space.spaces.values() if isinstance(space, Dict) else space.spaces
        for part in parts:
            _check(part, whole)
    elif isinstance(space, Sequence):
        _check(space.feature_space, whole)
    elif not isinstance(space, (Discrete, Text, *_ARRAYS)):
        raise CustomSpaceError(
            f"Observations of {whole} are not told as text, because of {space!r:.200}. Use a "
            "wrapper such as ludus.wrappers.TransformObservation that makes texts or numbers."
        )
    elif isinstance(space, _ARRAYS) and np.prod(space.shape) > MOST_NUMBERS:
        raise CustomSpaceError(
            f"Observations have an array of shape {space.shape}, and at most {MOST_NUMBERS:,} "
            "numbers are told as text. Use a wrapper such as ludus.wrappers.TransformObservation "
            "that makes fewer, or a text."
        )


def _told(space: Space[Any], value: Any) -> str:
    if isinstance(space, Text):
        return str(value)
    if isinstance(space, Dict):
        told = (f"{key}: {_told(part, value[key])}" for key, part in space.spaces.items())
        return "\n".join(("", *told)) if isinstance(value, Mapping) else str(value)
    if isinstance(space, TupleSpace):
        parts = zip(space.spaces, value, strict=True)
        return f"({', '.join(_told(part, one) for part, one in parts)})"
    if isinstance(space, Sequence):
        return f"[{', '.join(_told(space.feature_space, one) for one in value)}]"
    return _rows(np.asarray(value))


def _rows(array: np.ndarray[Any, Any]) -> str:
    if array.ndim == 0:
        return plain(array) or ""
    separator = ",\n " if array.ndim > 1 else ", "
    return f"[{separator.join(_rows(row) for row in array)}]"
