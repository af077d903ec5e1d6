import warnings

import gymnasium as gym
import numpy as np
from gymnasium.utils.env_checker import check_env


class Base(gym.Env):
    observation_space = gym.spaces.Box(0, 1, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.np_random.random(2, dtype=np.float32), {}

    def step(self, action):
        return np.zeros(2, np.float32), 0.0, False, False, {}


class FourTuple(Base):
    def step(self, action):
        return np.zeros(2, np.float32), 0.0, False, {}


class NoInfo(Base):
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32)


class NoSeed(Base):
    def reset(self):
        return np.zeros(2, np.float32), {}


class Outside(Base):
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.full(2, 7, np.float32), {}


class NoSpace(Base):
    action_space = None


class Random(Base):
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.random.default_rng().random(2, dtype=np.float32), {}


class BadReward(Base):
    def step(self, action):
        return np.zeros(2, np.float32), "one", False, False, {}


for kind in (Base, FourTuple, NoInfo, NoSeed, Outside, NoSpace, Random, BadReward):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            check_env(kind(), skip_render_check=True)
            print(kind.__name__, "passes")
        except (AssertionError, TypeError, ValueError, gym.error.Error) as problem:
            print(kind.__name__, [k.__name__ for k in (AssertionError, TypeError) if isinstance(problem, k)][:1])
