"""What the tests of the family share."""

from __future__ import annotations

import numpy as np

from ludus.envs.toy_text.registration import SPECS

BY_ID = {spec.id: spec for spec in SPECS if spec.namespace is None}


def make(env_id, **kwargs):
    return BY_ID[env_id].make(**kwargs)


class Script:
    """A random generator whose draws are written down beforehand."""

    def __init__(self, *draws):
        self.draws = list(draws)

    def random(self):
        return self.draws.pop(0)

    def integers(self, low, high):
        value = self.draws.pop(0)
        assert low <= value < high
        return value


def optimum(env, horizon=None):
    """Return the value of the best policy at the start, by sweeps of value iteration."""
    p = env.unwrapped.params
    _, probability, next_state, reward, terminated = np.moveaxis(p.table, 3, 0)
    value = np.zeros(p.states)
    sweep = 0
    while horizon is None or sweep < horizon:
        future = np.where(terminated, 0.0, value[next_state.astype(int)])
        new = (probability * (reward + future)).sum(axis=2).max(axis=1)
        if horizon is None and np.abs(new - value).max() < 1e-12:
            break
        value, sweep = new, sweep + 1
    return float(value @ env.unwrapped.initial_state_distrib)
