"""Kernels from source text: a small right kernel of which a test replaces functions."""

from __future__ import annotations

import importlib.util
import sys
import textwrap
from itertools import count

MODULE = """
import math
import random
import time
from typing import Any, NamedTuple

import numpy as np

import ludus
from ludus.kernel import Kernel, KernelEnv, register
from ludus.kernel.math import sin, sqrt
from ludus.kernel.random import uniform

LIMIT = 10


class Params(NamedTuple):
    goal: float = 5.0


class State(NamedTuple):
    x: float
    steps: int
    won: bool


class Other(NamedTuple):
    x: float


{prelude}


{initial}


{transition}


{observation}


{reward}


{terminal}


def spaces(params):
    box = ludus.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    return box, ludus.spaces.Discrete(3)


@register("{name}/Written-v0", max_episode_steps=50)
class WrittenEnv(KernelEnv):
    kernel = Kernel(
        "Written", Params, State, initial, transition, observation, reward, terminal, spaces
    )

    def __init__(self, render_mode: str | None = None):
        super().__init__(Params(), render_mode)
"""

RIGHT = {
    "prelude": "",
    "initial": "def initial(params, rng):\n    return State(0.0, 0, False)",
    "transition": (
        "def transition(params, state, action, rng):\n"
        "    return State(state.x + 0.5 * action, state.steps + 1, False)"
    ),
    "observation": "def observation(params, state):\n    return state.x, 1.0 * state.steps",
    "reward": "def reward(params, state, action, next_state):\n    return next_state.x - state.x",
    "terminal": "def terminal(params, state):\n    return state.x > params.goal",
}
_numbers = count()


def write_module(folder, **parts):
    """Write a module with a kernel, some of its functions replaced; return its import name."""
    name = f"written_{next(_numbers)}"
    texts = {key: textwrap.dedent(text).strip() for key, text in {**RIGHT, **parts}.items()}
    (folder / f"{name}.py").write_text(MODULE.format(name=name, **texts))
    return name


def import_module(folder, name):
    """Import a module that was written into a folder."""
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def written_env(folder, **parts):
    """Return the environment class of a kernel, some of whose functions are replaced."""
    return import_module(folder, write_module(folder, **parts)).WrittenEnv
