"""The C program that CartPole is measured against: built on the spot, called through ctypes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ludus.seeding import np_random

__all__ = ["FLAGS", "CCartPole", "build"]

FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")
SOURCE = Path(__file__).parent / "c" / "cartpole.c"
_LOW = (1 << 64) - 1


class _Results(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("seen", "rewards", "ended", "cut")]


def build() -> Any:
    """Compile and load the program; ``None`` if there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cartpole.so"
        subprocess.run([compiler, *FLAGS, "-o", path, SOURCE], check=True)
        library = ctypes.CDLL(str(path))
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    library.cartpole_new.argtypes = [number, number, pointer, pointer]
    library.cartpole_new.restype = pointer
    library.cartpole_step.argtypes = [pointer, pointer, pointer]
    library.cartpole_step.restype = None
    library.cartpole_rollout.argtypes = [pointer, pointer, pointer, number]
    library.cartpole_rollout.restype = None
    library.cartpole_free.argtypes = [pointer]
    library.cartpole_free.restype = None
    return library


class CCartPole:
    """Environments seeded as ``reset(seed=0)`` seeds those of a vector environment.

    Results of the last call are in :attr:`observations` (steps, 4, environments), :attr:`rewards`,
    :attr:`terminations` and :attr:`truncations`.
    """

    def __init__(self, library: Any, num_envs: int, steps: int = 1, limit: int = 500) -> None:
        self._library = library
        self._steps = steps
        self.observations = np.zeros((steps, 4, num_envs), np.float32)
        self.rewards = np.zeros((steps, num_envs))
        self.terminations, self.truncations = np.zeros((2, steps, num_envs), np.bool_)
        rows = (self.observations, self.rewards, self.terminations, self.truncations)
        self._kept = _Results(*(row.ctypes.data for row in rows))
        self._results = ctypes.addressof(self._kept)
        seeds = np.array([_words(seed) for seed in range(num_envs)], np.uint64)
        self._batch = library.cartpole_new(num_envs, limit, seeds.ctypes.data, self._results)
        self._step = library.cartpole_step

    def step(self, actions: int) -> None:
        """Make one step with the int64 actions at an address."""
        self._step(self._batch, actions, self._results)

    def rollout(self, actions: int) -> None:
        """Make all steps with the actions at an address, without returning in between."""
        self._library.cartpole_rollout(self._batch, actions, self._results, self._steps)

    def close(self) -> None:
        """Give the memory back."""
        self._library.cartpole_free(self._batch)


def _words(seed: int) -> tuple[int, int, int, int]:
    state = np_random(seed)[0].bit_generator.state["state"]
    position, increment = state["state"], state["inc"]
    return position >> 64, position & _LOW, increment >> 64, increment & _LOW
