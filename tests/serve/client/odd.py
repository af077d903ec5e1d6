"""An environment whose actions and observations have no fixed size."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.core import Env
from ludus.spaces import Box, Dict, Discrete, Graph, OneOf, Sequence, Text, Tuple


class OddEnv(Env[Any, Any]):
    """Draws observations of all kinds of spaces; the reward tells the size of the action."""

    state_fields = ("steps",)

    def __init__(self) -> None:
        self.action_space = Tuple((OneOf((Discrete(3), Text(5))), Sequence(Discrete(4))))
        self.observation_space = Dict(
            {
                "text": Text(8),
                "many": Sequence(Box(0.0, 1.0, (2,), np.float32)),
                "stack": Sequence(Discrete(5), stack=True),
                "graph": Graph(Box(-1.0, 1.0, (3,), np.float32), Discrete(4)),
                "either": OneOf((Discrete(2), Text(4))),
                "number": Discrete(9, start=-4),
            }
        )
        self.steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        return self._drawn(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        (_, chosen), numbers = action
        reward = float(len(numbers) + len(str(chosen)))
        return self._drawn(), reward, self.steps >= 7, False, {"chosen": str(chosen)}

    def _drawn(self) -> Any:
        self.observation_space.seed(int(self.np_random.integers(2**31)))
        return self.observation_space.sample()
