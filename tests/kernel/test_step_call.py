"""The native step of a single environment does what the step in Python does, and leaks nothing."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import weakref

import numpy as np
import psutil
import pytest

import ludus
from ludus.errors import InvalidAction
from tests.reference.twins import assert_same

IDS = [
    "CartPole-v1",  # int actions, array observations
    "MountainCarContinuous-v0",  # float actions
    "FrozenLake-v1",  # int observations, infos
    "Blackjack-v1",  # tuple observations
    "Taxi-v4",  # arrays in infos
    "MinAtar/Breakout-v1",  # whole arrays
]
READ_ONLY = np.full(1, 0.25, np.float32)
READ_ONLY.flags.writeable = False
ACTIONS = {
    "CartPole-v1": [
        *(0, 1, np.int64(1), np.int32(1), np.uint8(0), np.array(1), np.array([1])[0]),
        *(2, -1, 10**30, -(10**30), np.int64(-1), np.int64(2), True, 1.0, None, "1", [1]),
        *(np.array([1]), np.float32(1.0), object()),
    ],
    "MountainCarContinuous-v0": [
        *(np.zeros(1, np.float32), np.full(1, 0.7), np.full(1, np.nan), READ_ONLY),
        *(np.zeros(2), np.zeros((1, 1)), np.zeros(0), np.float32(0.5), np.array(0.5), 0.5),
        *(np.full(3, 0.3, np.float32)[::3], np.full(1, 0.5, ">f4"), np.ones(1, int)),
        *(np.full(9, 7, np.uint8)[1:5].view(np.float32), [0.5], (0.5,), ["x"], None, [[0.5]]),
        np.full(1, 0.5, np.float16),
        np.full(1, 0.5).view(np.ma.MaskedArray),
    ],
}


def in_python(env_id):
    """Return an environment whose steps are put together in Python."""
    env = ludus.make(env_id).unwrapped
    env._native_advance = lambda step: step
    return env


def outcome(env, action):
    try:
        return env.step(action)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("env_id", IDS)
def test_steps_are_those_of_python(env_id):
    native, plain = ludus.make(env_id).unwrapped, in_python(env_id)
    native.action_space.seed(1)
    for seed in range(3):
        assert_same(native.reset(seed=seed), plain.reset(seed=seed))
        over = False
        while not over:
            action = native.action_space.sample()
            one, other = native.step(action), plain.step(action)
            assert_same(one, other)
            assert [type(part) for part in one] == [type(part) for part in other]
            over = one[2] or seed == 0
    assert type(native._advance).__name__ == "builtin_function_or_method"


@pytest.mark.parametrize("env_id", ACTIONS)
def test_odd_actions_are_treated_as_in_python(env_id):
    native, plain = ludus.make(env_id).unwrapped, in_python(env_id)
    for env in (native, plain):
        env.reset(seed=0)
        env.step(env.action_space.sample() * 0)
    for action in ACTIONS[env_id]:
        for env in (native, plain):
            env.reset(seed=1)
        assert_same(outcome(native, action), outcome(plain, action))
    with pytest.raises(InvalidAction):
        native.step("left")


@pytest.mark.parametrize("env_id", IDS)
def test_results_are_the_callers(env_id):
    env = ludus.make(env_id).unwrapped
    env.reset(seed=0)
    action = env.action_space.sample()
    first = env.step(action)
    kept = copy.deepcopy(first)
    env.reset(seed=1)
    env.step(action)
    assert_same(first, kept)
    if isinstance(first[0], np.ndarray):
        assert first[0].flags.owndata
        assert first[0].flags.writeable
        assert first[0].base is None


@pytest.mark.parametrize("env_id", IDS)
def test_nothing_leaks(env_id):
    env = ludus.make(env_id).unwrapped
    env.reset(seed=0)
    action = env.action_space.sample()
    process = psutil.Process()

    def run(steps):
        for _ in range(steps):
            if env.step(action)[2]:
                env.reset()

    run(5_000)
    dtype = np.dtype(np.float32)
    counted = (None, True, False, dtype, action, env.step(action)[1])
    before = [sys.getrefcount(thing) for thing in counted]
    resident = process.memory_info().rss
    run(40_000)
    after = [sys.getrefcount(thing) for thing in counted]
    # Caches here and there come and go; a reference lost per step would be thousands.
    assert max(abs(a - b) for a, b in zip(after, before, strict=True)) < 200
    assert process.memory_info().rss - resident < 4 * 2**20


def test_an_environment_can_go_away():
    env = ludus.make("FrozenLake-v1").unwrapped
    env.reset(seed=0)
    env.step(0)
    twin = pickle.loads(pickle.dumps(env))
    assert_same(copy.deepcopy(env).step(1), twin.step(1))
    gone = weakref.ref(env)
    del env
    gc.collect()
    assert gone() is None


def test_infos_that_fail_fail_the_step():
    env = ludus.make("FrozenLake-v1").unwrapped

    def broken():
        raise KeyError("told")

    env._infos = broken
    env._started = True
    for _ in range(3):
        with pytest.raises(KeyError, match="told"):
            env._advance(0)
