"""Environments that misbehave, and one whose dynamics can be changed after it was recorded."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

import ludus
from ludus.core.spec import SecuritySpec
from ludus.registration.table import registry
from ludus.spaces import Box, Discrete

IDS = ("ViewOdd/Drift-v0", "ViewOdd/Hungry-v0", "ViewOdd/Endless-v0", "ViewOdd/Crash-v0")


class DriftEnv(ludus.Env[Any, Any]):
    """Counts; what it counts by can be changed."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 10}
    pace = 1.0

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = Box(-np.inf, np.inf, (1,), np.float64)
        self.action_space = Discrete(2)
        self.at = 0.0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0.0
        return np.array([self.at]), {}

    def step(self, action):
        self.at += self.pace if self.at >= 3 else 1.0
        return np.array([self.at]), 1.0, self.at >= 9, False, {}

    def render(self):
        return np.full((8, 8, 3), int(self.at), np.uint8)


class HungryEnv(DriftEnv):
    """Asks for four gigabytes in its third step."""

    def step(self, action):
        if self.at == 3:
            self.kept = np.ones(2**32, np.uint8)
        return super().step(action)


class EndlessEnv(DriftEnv):
    """Never returns from its third step where it is drawn."""

    def step(self, action):
        while self.at == 3 and self.render_mode:
            time.sleep(0.1)
        return super().step(action)


class CrashEnv(DriftEnv):
    """Ends the process in its third step where it is drawn."""

    def step(self, action):
        if self.at == 3 and self.render_mode:
            os._exit(7)
        return super().step(action)


def register() -> None:
    """Register all of them, once."""
    for env_id, cls in zip(IDS, (DriftEnv, HungryEnv, EndlessEnv, CrashEnv), strict=True):
        if env_id not in registry:
            ludus.register(env_id, entry_point=f"{__name__}:{cls.__name__}")
    if "ViewOdd/Untrusted-v0" not in registry:
        ludus.register(
            "ViewOdd/Untrusted-v0",
            entry_point=f"{__name__}:DriftEnv",
            security=SecuritySpec(trust="untrusted"),
        )


@contextmanager
def registered() -> Iterator[None]:
    """Register all of them for a while; other tests look at all registered environments."""
    register()
    try:
        yield
    finally:
        for env_id in (*IDS, "ViewOdd/Untrusted-v0"):
            registry.pop(env_id)


if "pytest" not in sys.modules:  # in a worker process of the viewer
    register()
