"""Dict observations as one vector."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ludus.classic.wrapper import ObservationWrapper
from ludus.spaces import Box

__all__ = ["FlattenDictWrapper"]


class FlattenDictWrapper(ObservationWrapper):
    """Join the chosen entries of a dict observation, in the given order, into one vector."""

    def __init__(self, env: Any, dict_keys: Iterable[str]) -> None:
        super().__init__(env)
        self.dict_keys = list(dict_keys)
        size = sum(int(np.prod(env.observation_space.spaces[key].shape)) for key in self.dict_keys)
        self.observation_space = Box(-np.inf, np.inf, (size,), np.float32)

    def observation(self, observation: dict[str, Any]) -> Any:
        """Return the vector."""
        return np.concatenate([np.ravel(observation[key]) for key in self.dict_keys])
