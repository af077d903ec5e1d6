"""The API of OpenAI Gym 0.21, implemented with Ludus.

``import ludus.classic as gym`` runs code that was written for it::

    env = gym.make("CartPole-v1")
    env.seed(0)
    observation = env.reset()
    observation, reward, done, info = env.step(env.action_space.sample())

All environments registered in Ludus are available. Environments written for Gym, also for its first
API with ``_step`` and ``_reset``, can be registered here or in Ludus. The random numbers are those
of Gym, so seeded environments have the same initial states.
"""

from __future__ import annotations

from ludus.classic import envs, error, logger, spaces, utils, vector, wrappers
from ludus.classic.core import (
    ActionWrapper,
    Env,
    GoalEnv,
    ObservationWrapper,
    RewardWrapper,
    Wrapper,
)
from ludus.classic.envs.registration import make, register, spec
from ludus.classic.version import __version__
from ludus.spaces import Space

__all__ = [
    "ActionWrapper",
    "Env",
    "GoalEnv",
    "ObservationWrapper",
    "RewardWrapper",
    "Space",
    "Wrapper",
    "__version__",
    "envs",
    "error",
    "logger",
    "make",
    "register",
    "spaces",
    "spec",
    "utils",
    "vector",
    "wrappers",
]
