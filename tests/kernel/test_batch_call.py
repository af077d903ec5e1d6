"""The native step of a batch does what the step in Python does, and leaks nothing."""

from __future__ import annotations

import gc
import sys
import weakref

import numpy as np
import pytest

import ludus
from ludus.errors import InvalidAction
from tests.reference.twins import assert_same

N = 12
RNG = np.random.default_rng(0)
GOOD = RNG.integers(0, 2, N)
UNALIGNED = np.zeros(8 * N + 1, np.uint8)[1:].view(np.int64)
READ_ONLY = GOOD.copy()
READ_ONLY.flags.writeable = False


class Tagged(np.ndarray):
    """An array of a class of its own."""


ACTIONS = {
    "int64": GOOD,
    "read only": READ_ONLY,
    "with gaps": np.repeat(GOOD, 2)[::2],
    "backwards": GOOD[::-1],
    "unaligned": UNALIGNED,
    "of a subclass": GOOD.view(Tagged),
    "other end first": GOOD.astype(">i8"),
    "int32": GOOD.astype(np.int32),
    "int16": GOOD.astype(np.int16),
    "int8": GOOD.astype(np.int8),
    "uint64": GOOD.astype(np.uint64),
    "uint32": GOOD.astype(np.uint32),
    "uint16": GOOD.astype(np.uint16),
    "uint8": GOOD.astype(np.uint8),
    "int32 with gaps": np.repeat(GOOD, 3).astype(np.int32)[::3],
    "int32 backwards": GOOD.astype(np.int32)[::-1],
    "spread": np.broadcast_to(np.int32(1), N),
    "long long": GOOD.astype(np.longlong),
    "bool": GOOD.astype(np.bool_),
    "list": GOOD.tolist(),
    "a column": GOOD.reshape(N, 1),
    "a row": GOOD.reshape(1, N),
    "floats": GOOD.astype(np.float64),
    "dates": GOOD.astype("M8[s]"),
    "objects": GOOD.astype(object),
    "too many": np.zeros(N + 1, np.int64),
    "too few": np.zeros(N - 1, np.int64),
    "none": np.zeros(0, np.int64),
    "a number": np.int64(1),
    "no axis": np.array(1),
    "nothing": None,
    "text": "0" * N,
    "too high": np.where(np.arange(N) == 7, 2, GOOD),
    "too low": np.where(np.arange(N) == 7, -1, GOOD),
    "far off": np.where(np.arange(N) == 7, np.iinfo(np.int64).min, GOOD),
    "below in int8": np.where(np.arange(N) == 7, -1, GOOD).astype(np.int8),
    "above in uint8": np.where(np.arange(N) == 7, 255, GOOD).astype(np.uint8),
    "above in uint64": np.where(np.arange(N) == 7, 2**64 - 1, GOOD.astype(np.uint64)),
}
# What is stepped in one native call; everything else is converted or refused in Python.
PLAIN = {
    *("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool"),
    *("read only", "with gaps", "backwards", "unaligned", "a column", "spread"),
    *("int32 with gaps", "int32 backwards", "too high", "too low", "far off"),
    *("below in int8", "above in uint8", "above in uint64"),
}
MATRIX = RNG.uniform(-1, 1, (2 * N, 3))
FLOATS = {
    "float32": MATRIX[:N, :1].astype(np.float32),
    "float64": MATRIX[:N, :1].copy(),
    "float16": MATRIX[:N, :1].astype(np.float16),
    "one axis": MATRIX[:N, 0].astype(np.float32),
    "with gaps": MATRIX[::2, 1:2],
    "in columns": np.asfortranarray(MATRIX[:N, :1]),
    "ints": np.ones((N, 1), np.int64),
    "list": MATRIX[:N, :1].tolist(),
    "too wide": MATRIX[:N, :2],
    "not finite": np.where(MATRIX[:N, :1] > 0, np.nan, np.inf),
}


def envs_of(env_id, **options):
    envs = ludus.make_vec(env_id, N, **options)
    envs.reset(seed=3)
    envs.step(GOOD)
    return envs


def in_python(envs):
    """Let the step of a batch be put together in Python."""
    envs._step_at_once = lambda _actions: None
    return envs


def outcome(envs, actions):
    try:
        return envs.step(actions)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", ACTIONS)
@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1"])
def test_actions_are_treated_as_in_python(env_id, name):
    native, plain = envs_of(env_id), in_python(envs_of(env_id))
    assert type(native._step_at_once).__name__ == "builtin_function_or_method"
    for actions in (ACTIONS[name], GOOD):
        assert_same(outcome(native, actions), outcome(plain, actions))
    assert_same(native.get_state(), plain.get_state())


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_steps_are_those_of_python(mode):
    options = {"autoreset_mode": mode, "max_episode_steps": 40}
    native = envs_of("Blackjack-v1", **options)
    plain = in_python(envs_of("Blackjack-v1", **options))
    for _ in range(60):
        actions = RNG.integers(0, 2, N)
        assert_same(outcome(native, actions), outcome(plain, actions))


def test_only_arrays_that_fit_are_stepped_at_once():
    envs = envs_of("CartPole-v1")
    fit = [name for name, given in ACTIONS.items() if envs._step_at_once(given) is not None]
    assert set(fit) == PLAIN


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("env_id", ["Pendulum-v1", "MountainCarContinuous-v0"])
def test_actions_of_floats_are_treated_as_in_python(env_id, name):
    native, plain = (ludus.make_vec(env_id, N) for _ in range(2))
    for envs in (native, plain):
        envs.reset(seed=3)
        envs.step(FLOATS["float32"])
    in_python(plain)
    for actions in (FLOATS[name], FLOATS["float64"]):
        assert_same(outcome(native, actions), outcome(plain, actions))
    assert_same(native.get_state(), plain.get_state())


def test_tensors_and_lists_are_stepped_as_arrays():
    torch = pytest.importorskip("torch")
    expected = envs_of("CartPole-v1").step(GOOD)
    for given in (torch.tensor(GOOD), torch.tensor(GOOD, dtype=torch.int32), GOOD.tolist()):
        assert_same(envs_of("CartPole-v1").step(given), expected)


def test_a_wrong_action_steps_nothing():
    envs = envs_of("CartPole-v1")
    before = envs.get_state()
    with pytest.raises(InvalidAction, match="environment 7 is 2"):
        envs.step(ACTIONS["too high"])
    assert_same(envs.get_state(), before)


def test_actions_are_not_changed():
    envs = envs_of("CartPole-v1", copy=False)
    actions = GOOD.copy()
    for _ in range(50):
        envs.step(actions)
    np.testing.assert_array_equal(actions, GOOD)


def test_nothing_leaks():
    envs = envs_of("CartPole-v1", copy=False)
    whole = np.dtype(np.int64)
    counted = (None, GOOD, whole, envs._table, np.ndarray)
    before = [sys.getrefcount(thing) for thing in counted]
    for _ in range(5_000):
        envs.step(GOOD)
        envs._step_at_once("odd")
    after = [sys.getrefcount(thing) for thing in counted]
    # Caches here and there come and go; a reference lost per step would be thousands.
    assert max(abs(a - b) for a, b in zip(after, before, strict=True)) < 200


def test_a_batch_can_go_away():
    envs = envs_of("CartPole-v1")
    gone = weakref.ref(envs)
    envs.close()
    del envs
    gc.collect()
    assert gone() is None
