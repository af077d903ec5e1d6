"""An environment of somebody else, whose spaces are dicts; the server sandboxes it."""

from __future__ import annotations

import numpy as np

import ludus
from ludus.spaces import Box, Dict, Discrete, MultiBinary, Text


class Counting(ludus.Env):
    """Counts what it is given, and ends at ten."""

    def __init__(self) -> None:
        self.observation_space = Dict(
            {
                "count": Discrete(1000),
                "seen": Box(-np.inf, np.inf, (2,), np.float64),
                "bits": MultiBinary(3),
                "word": Text(20, min_length=0),
            }
        )
        self.action_space = Dict({"add": Discrete(3), "where": Box(-1.0, 1.0, (2,), np.float32)})

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count, self.where = 0, self.np_random.uniform(-1, 1, 2)
        return self._seen(), {}

    def step(self, action):
        self.count += int(action["add"])
        self.where = np.asarray(action["where"], np.float64)
        return self._seen(), float(action["add"]), self.count >= 10, False, {"count": self.count}

    def _seen(self):
        bits = np.array([self.count & 1, self.count >> 1 & 1, self.count >> 2 & 1], np.int8)
        seen = np.array([self.where[0], np.inf])
        return {"count": np.int64(self.count), "seen": seen, "bits": bits, "word": "n" * self.count}


ludus.register("peer/Counting-v0", entry_point="peer_envs:Counting")
