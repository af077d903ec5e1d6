"""An environment whose bound is a number that float32 rounds the other way."""

from __future__ import annotations

import numpy as np

import ludus
from ludus.spaces import Box, Discrete


class OneStepOutside(ludus.Env):
    def __init__(self, size=2, render_mode=None):
        self.render_mode = render_mode
        self.observation_space = Box(-0.7, 0.7, (size,), np.float32)
        self.action_space = Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(self.observation_space.shape, np.float32), {}

    def step(self, action):
        seen = np.zeros(self.observation_space.shape, np.float32)
        seen[0] = np.nextafter(np.float32(0.7), np.float32(1)) if action == 0 else 0.701
        return seen, 0.0, False, False, {}
