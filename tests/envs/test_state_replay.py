"""A saved state replays: every kernel, single and in batches.

A run is recorded from states saved on the way: in an episode, at its end, and right after a reset.
Set on the environment itself, and on one that was never reset, each state gives the rest again.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import ludus
from ludus.core import AutoresetMode
from ludus.envs.builtin import KERNELS
from tests.kernel.families import some_ids
from tests.reference.twins import assert_same
from tests.sampling import sampled

IDS = [spec.id for spec in KERNELS]
SOME = some_ids()
BATCHES = [
    pytest.param(spec.id, mode, id=f"{spec.id}-{mode.value}")
    for spec in KERNELS
    if spec.vector_entry_point and spec.id in SOME
    for mode in AutoresetMode
]
STEPS = 120
PLAIN = (bool, int, float, str, bytes, type(None), np.generic)


def quietly(build, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return build(*args, **kwargs)


def assert_plain(value):
    """Fail if a state holds anything but numbers, strings, lists, dicts and arrays of numbers."""
    if isinstance(value, dict):
        assert all(isinstance(key, str | int) for key in value)
        for part in value.values():
            assert_plain(part)
    elif isinstance(value, list | tuple):
        for part in value:
            assert_plain(part)
    elif isinstance(value, np.ndarray):
        assert not value.dtype.hasobject
    else:
        assert isinstance(value, PLAIN), type(value)


def single(env_id):
    return quietly(ludus.make, env_id, disable_env_checker=True)


def play(env):
    """Play at random; return actions with what they gave, ``None`` for a reset, and states."""
    env.reset(seed=11)
    env.action_space.seed(3)
    events, states, over = [], {}, False
    for number in range(STEPS):
        if number % 37 == 5 or (over and len(states) < 5):
            states[len(events)] = env.get_state()
        if over:
            events.append((None, env.reset()))
            over = False
            if len(states) < 5:
                states[len(events)] = env.get_state()
        else:
            action = env.action_space.sample()
            events.append((action, env.step(action)))
            over = events[-1][1][2] or events[-1][1][3]
    return events, states


def replay(env, events):
    for action, expected in events:
        found = env.reset() if action is None else env.step(action)
        assert_same(found, expected)


@pytest.mark.parametrize("env_id", IDS)
def test_single_environments(env_id):
    env = single(env_id)
    events, states = play(env)
    assert len(states) >= 3
    for at, state in states.items():
        assert_plain(state)
        fresh = single(env_id)
        for target in (env, fresh):
            target.set_state(state)
            replay(target, events[at:])


@pytest.mark.parametrize(
    ("env_id", "mode"), sampled(BATCHES, len(SOME), by=lambda pair: pair.values[0])
)
def test_batches(env_id, mode):
    def batch():
        return quietly(ludus.make_vec, env_id, 5, autoreset_mode=mode)

    envs = batch()
    envs.reset(seed=4)
    envs.action_space.seed(1)
    events, states = [], {}
    for number in range(STEPS):
        if number % 31 == 7:
            states[len(events)] = envs.get_state()
        actions = envs.action_space.sample()
        events.append((actions, envs.step(actions)))
        over = events[-1][1][2] | events[-1][1][3]
        if mode is AutoresetMode.DISABLED and over.any():
            mask = {"reset_mask": over}
            events.append((mask, envs.reset(options=mask)))
    for at, state in states.items():
        assert_plain(state)
        for target in (envs, batch()):
            target.set_state(state)
            for action, expected in events[at:]:
                masked = isinstance(action, dict)
                found = target.reset(options=action) if masked else target.step(action)
                assert_same(found, expected)
