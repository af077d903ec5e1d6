"""Agents and environments that the tests of the runner load by name."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import ludus


class Pusher:
    """Pushes right; has everything an agent may have."""

    def __init__(self, env, seed, price=0.0):
        self.seeds = [seed]
        self.cost = 0.0
        self._price = price

    def reset(self, seed, env):
        self.seeds.append(seed)

    def act(self, observation):
        self.cost += self._price
        return 1

    def feedback(self, reward, terminated, truncated):
        assert reward == 1.0


def policy(observation):
    """A plain function: not a factory, as it asks for an observation."""
    return int(observation[2] + observation[3] > 0)


def make_policy():
    """A factory without arguments."""
    return policy


def batch_policy(observations):
    return (observations[:, 2] + observations[:, 3] > 0).astype(np.int64)


def careless(observation):
    """Draws from generators that it never seeded."""
    import random

    return (random.randrange(2) + np.random.randint(2)) % 2


def raises(observation):
    raise RuntimeError("I cannot\ngo on")


def invalid(observation):
    return 7


def leaves(observation):
    sys.exit(3)


def exits(observation):
    os._exit(5)


def hangs(observation):
    time.sleep(600)


def is_killed(observation):
    os.kill(os.getpid(), signal.SIGKILL)


def is_none(env):
    return 42


class Childbearing:
    """Starts a process that would outlive it, tells its number in a file, and hangs."""

    def __init__(self, path):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        Path(path).write_text(f"{os.getpid()} {child.pid}")

    def act(self, observation):
        time.sleep(600)


class Slow:
    """Takes its time, so that somebody can kill it meanwhile."""

    def act(self, observation):
        time.sleep(0.01)
        return 1


class Line(ludus.Env):
    """Ten steps that pay one each; its constructor can be told to fail."""

    observation_space = ludus.spaces.Discrete(11)
    action_space = ludus.spaces.Discrete(2)

    def __init__(self, broken_until=None, breaks_at=None, pays=1.0):
        if broken_until is not None:
            path = Path(broken_until)
            path.write_text(path.read_text() + "x" if path.exists() else "x")
            if len(path.read_text()) < 3:
                raise OSError(28, "No space left on device")
        self._breaks_at, self._pays, self._position = breaks_at, pays, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._position = 0
        return 0, {}

    def step(self, action):
        self._position += 1
        if self._position == self._breaks_at:
            raise ValueError("the environment is broken")
        return self._position, self._pays, self._position == 10, False, {}


if "tests-Line-v0" not in ludus.registry:
    ludus.register("tests-Line-v0", "tests.bench.players:Line", max_episode_steps=50)


def interrupts(observation):
    raise KeyboardInterrupt


def sigint(observation):
    """Sends the signal of Ctrl-C to its own process."""
    os.kill(os.getpid(), signal.SIGINT)
    return policy(observation)
