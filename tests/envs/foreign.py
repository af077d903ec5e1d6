"""The environments of other libraries, as they come: those that Ludus is compared with."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np

from ludus.seeding import np_random


def foreign_specs():
    """Return Gymnasium's and MinAtar's specs by id.

    An installed Ludus enters its own environments into Gymnasium's registry; those are left out.
    """
    before = dict(gymnasium.registry)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from minatar.gym import register_envs

            register_envs()
        specs = dict(gymnasium.registry)
    except ImportError:
        specs = before
    finally:
        gymnasium.registry.clear()
        gymnasium.registry.update(before)
    homes = ("gymnasium.", "minatar.")
    return {key: spec for key, spec in specs.items() if str(spec.entry_point).startswith(homes)}


class Draws:
    """A RandomState's methods over a Generator, one number at a time."""

    def __init__(self, generator):
        self._generator = generator

    def rand(self, size=None):
        if size is None:
            return self._generator.random()
        return np.array([self._generator.random() for _ in range(size)])

    def randint(self, low, high=None, size=None):
        if high is None:
            low, high = 0, low
        if size is None:
            return int(self._generator.integers(low, high))
        return np.array([int(self._generator.integers(low, high)) for _ in range(size)])


def give_stream(env, seed):
    """Let one of MinAtar's games draw what Ludus draws for a seed, whatever it is reset with."""
    game = env.unwrapped.game
    game.seed = lambda _seed: None
    game.random = game.env.random = Draws(np_random(seed)[0])
