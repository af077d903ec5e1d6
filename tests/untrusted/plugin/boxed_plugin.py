"""A plugin that must never be imported by the host."""

from __future__ import annotations

import os

import numpy as np

import ludus
from ludus.spaces import Box, Dict, Discrete, Graph, MultiBinary, Sequence, Text, Tuple

if "LUDUS_HOST_OF_TESTS" in os.environ:
    raise AssertionError("the host has imported the plugin")


class Everything(ludus.Env):
    """Observations of every kind, actions echoed in the info."""

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 5}
    state_fields = ("count",)

    def __init__(self, kind="dict", render_mode=None):
        self.render_mode = render_mode
        self.count = 0
        self.observation_space, self.value = {
            "dict": (
                Dict(a=Box(0, 255, (3, 3), np.uint8), b=Tuple([Discrete(5), MultiBinary(3)])),
                {"a": np.ones((3, 3), np.uint8), "b": (4, np.ones(3, np.int8))},
            ),
            "text": (Text(9, charset="abc"), "abcab"),
            "sequence": (Sequence(Discrete(3)), (0, 1, 2)),
            "graph": (
                Graph(Box(0, 1, (2,)), Discrete(3)),
                Graph(Box(0, 1, (2,)), Discrete(3), seed=0).sample(num_nodes=3, num_edges=2),
            ),
            "bool": (Box(0, 1, (4,), np.bool_), np.array([True, False, True, True])),
        }[kind]
        self.action_space = Dict(go=Discrete(3, start=-1), push=Box(-1, 1, (2,)), say=Text(4))
        if kind == "dict":
            self.action_space = Tuple([Discrete(3, start=-1), Box(-1, 1, (2,))])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return self.value, {"options": options, "draw": float(self.np_random.random())}

    def step(self, action):
        self.count += 1
        print("printed by the environment")
        return self.value, np.float32(self.count), False, False, {"action": action}

    def render(self):
        if self.render_mode == "ansi":
            return f"count {self.count}"
        return np.full((4, 4, 3), self.count, np.uint8)


class Named(Everything):
    def __init__(self, name, **kwargs):
        super().__init__(**kwargs)
        self.name = name


ludus.register(
    "boxed/Everything-v0",
    entry_point="boxed_plugin:Everything",
    max_episode_steps=3,
    author="somebody",
)
