"""Small vector environments to wrap."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import ludus
from ludus.core import AutoresetMode, VectorEnv
from ludus.spaces import Box, Discrete, batch_space
from ludus.vector.sync_vector_env import SyncVectorEnv
from tests.reference.twins import twin_env


def twins(
    observation: str = "box",
    action: str = "discrete",
    mode: AutoresetMode = AutoresetMode.NEXT_STEP,
    *,
    num_envs: int = 3,
    **kwargs: Any,
) -> SyncVectorEnv[Any, Any]:
    fns = [partial(twin_env, ludus, observation, action, **kwargs)] * num_envs
    return SyncVectorEnv(fns, autoreset_mode=mode)


class Scripted(VectorEnv[Any, Any, Any]):
    """Two environments that return what they are told to.

    ``script`` has one (rewards, terminations, infos) per step; the arrays are handed out
    themselves, so that a wrapper that writes into them is caught.
    """

    def __init__(self, script: Any = (), **metadata: Any) -> None:
        self.num_envs = 2
        self.metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, **metadata}
        self.single_observation_space = Box(-9.0, 9.0, (1,), np.float32)
        self.single_action_space: Any = Discrete(3)
        self.observation_space = batch_space(self.single_observation_space, 2)
        self.action_space = batch_space(self.single_action_space, 2)
        self.script = list(script)
        self.reset_infos: Any = {}
        self.reset_calls: list[Any] = []
        self.taken: list[Any] = []

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.reset_calls.append((seed, options))
        return np.zeros((2, 1), np.float32), self.reset_infos

    def step(self, actions: Any) -> Any:
        self.taken.append(actions)
        rewards, terminations, infos = self.script.pop(0)
        observations = np.full((2, 1), len(self.taken), np.float32)
        return (
            observations,
            np.asarray(rewards),
            np.array(terminations, bool),
            np.zeros(2, bool),
            infos,
        )


NOOP = np.zeros(2, np.int64)
