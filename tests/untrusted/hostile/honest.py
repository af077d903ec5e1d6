"""The environment that the hostile ones would be if they behaved."""

from __future__ import annotations

import sys

import numpy as np

import ludus
from ludus.spaces import Box, Discrete


class Honest(ludus.Env):
    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 30}

    def __init__(self, render_mode=None):
        self.render_mode = render_mode
        self.observation_space = Box(-1.0, 1.0, (2,), np.float32)
        self.action_space = Discrete(2)

    def observation(self):
        return np.zeros(2, np.float32)

    def result(self):
        return [self.observation(), 0.0, False, False, {}]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return tuple(self.result())

    def render(self):
        return np.zeros((4, 4, 3), np.uint8)


def find_link():
    """Return the runner's own end of the channel: nothing keeps an environment from it."""
    frame = sys._getframe()
    while frame is not None:
        for value in (frame.f_locals.get("link"), frame.f_locals.get("self")):
            if hasattr(value, "say"):
                return value
            if hasattr(value, "_link"):
                return value._link
        frame = frame.f_back
    raise LookupError
