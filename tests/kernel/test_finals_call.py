"""Final observations from native code: as in Python, never changed once given, nothing leaked."""

from __future__ import annotations

import gc
import sys
import weakref

import numpy as np
import pytest

import ludus
from ludus.kernel.native.call.finals import FinalObservations
from ludus.kernel.native.final_values import FinalForm
from tests.reference.twins import assert_same

N = 12


def batch(env_id="CartPole-v1", *, native=True, n=N, **options):
    envs = ludus.make_vec(env_id, n, autoreset_mode="SameStep", **options)
    envs._read._native = native
    envs.action_space.seed(1)
    envs.reset(seed=4)
    return envs


def is_native(envs):
    return envs._read.fill_finals is not None


@pytest.mark.parametrize("n", [1, 7, 8, 20])
@pytest.mark.parametrize(
    "env_id",
    [
        *("CartPole-v1", "Pendulum-v1", "MinAtar/Breakout-v1"),
        *("Blackjack-v1", "FrozenLake-v1", "Taxi-v4"),
    ],
)
def test_steps_are_those_of_python(env_id, n):
    options = {"max_episode_steps": 9, "n": n}
    native, plain = batch(env_id, **options), batch(env_id, native=False, **options)
    ended = 0
    for _ in range(60):
        actions = native.action_space.sample()
        found, expected = native.step(actions), plain.step(actions)
        assert_same(found, expected)
        for mine, theirs in zip(
            found[4].get("final_obs", ()), expected[4].get("final_obs", ()), strict=True
        ):
            assert type(mine) is type(theirs)
            ended += mine is not None
    assert ended > 5 * n
    assert is_native(native)
    assert not is_native(plain)


@pytest.mark.parametrize("env_id", ["Blackjack-v1", "FrozenLake-v1", "Taxi-v4"])
def test_infos_and_numbers_that_are_kept_do_not_change(env_id):
    native, plain = (batch(env_id, native=flag, max_episode_steps=4) for flag in (True, False))
    actions = [native.action_space.sample() for _ in range(40)]
    found, expected = ([envs.step(one) for one in actions] for envs in (native, plain))
    assert_same(found, expected)


@pytest.mark.parametrize("threads", [1, 2])
def test_what_was_given_does_not_change(threads):
    envs = batch(max_episode_steps=5, num_threads=threads)
    given, copies = [], []
    for _ in range(80):
        infos = envs.step(envs.action_space.sample())[4]
        if "final_obs" in infos:
            given.append(infos["final_obs"])
            copies.append([None if one is None else one.copy() for one in infos["final_obs"]])
    for array, copy in zip(given, copies, strict=True):
        for one, kept in zip(array, copy, strict=True):
            np.testing.assert_array_equal(one, kept)
    assert len({id(array) for array in given}) == len(given)


def test_single_observations_that_are_kept_do_not_change():
    envs = batch(max_episode_steps=3)
    kept, copies, views = [], [], []
    for _ in range(60):
        infos = envs.step(envs.action_space.sample())[4]
        if "final_obs" in infos:
            one = infos["final_obs"][5]
            if one is not None:
                kept.append(one)
                views.append(infos["final_obs"][6][1:])
                copies.append((one.copy(), views[-1].copy()))
        del infos
    for one, view, (copy, copied_view) in zip(kept, views, copies, strict=True):
        np.testing.assert_array_equal(one, copy)
        np.testing.assert_array_equal(view, copied_view)


def test_arrays_nobody_has_are_used_again():
    envs = batch(max_episode_steps=1)
    seen = set()
    for _ in range(20):
        infos = envs.step(envs.action_space.sample())[4]
        seen.add(id(infos["final_obs"]))
    assert len(seen) <= 3


def spoil_entries(array):
    array[:] = "spoilt"


def spoil_shape(array):
    array.shape = (2, N // 2)


def spoil_flags(array):
    array.flags.writeable = False


def spoil_observation_shape(array):
    for one in array:
        one.shape = (2, 2)


def spoil_observation_dtype(array):
    for one in array:
        one.dtype = np.int32


def spoil_observation_flags(array):
    for one in array:
        one.flags.writeable = False


def spoil_observation_size(array):
    for one in array:
        one.resize(3, refcheck=False)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "spoil",
    [
        spoil_entries,
        spoil_shape,
        spoil_flags,
        spoil_observation_shape,
        spoil_observation_dtype,
        spoil_observation_flags,
        spoil_observation_size,
    ],
)
def test_what_callers_do_to_the_arrays_stays_with_them(spoil):
    envs, plain = batch(max_episode_steps=1), batch(native=False, max_episode_steps=1)
    for _ in range(6):
        actions = envs.action_space.sample()
        infos, expected = envs.step(actions)[4], plain.step(actions)[4]
        assert_same(infos, expected)
        for one in infos["final_obs"]:
            assert one.flags.writeable
            assert one.dtype == np.float32
        spoil(infos["final_obs"])
    spoilt = envs._read.fill_finals(0)[0]
    assert all(one is None for one in spoilt)


def test_weak_references_die_with_what_they_refer_to():
    envs = batch(max_episode_steps=1)
    envs.step(envs.action_space.sample())
    infos = envs.step(envs.action_space.sample())[4]
    before = [one.copy() for one in infos["final_obs"]]
    weak = [weakref.ref(infos["final_obs"]), *map(weakref.ref, infos["final_obs"])]
    del infos
    for _ in range(4):
        envs.step(envs.action_space.sample())
    for one, copy in zip(weak[1:], before, strict=True):
        assert one() is None or np.array_equal(one(), copy)


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Blackjack-v1", "Taxi-v4"])
def test_nothing_leaks(env_id):
    envs = batch(env_id, max_episode_steps=1)
    actions = envs.action_space.sample()
    for _ in range(500):  # until it keeps what it will keep
        envs.step(actions)
    dtypes = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_))
    counted = (None, 4, *dtypes, np.ndarray, envs._read.fill_finals)
    gc.collect()
    before = [sys.getrefcount(thing) for thing in counted]
    kept = []
    for k in range(2_000):
        infos = envs.step(actions)[4]
        # Sometimes they are kept, so that new ones have to be made.
        kept = [infos] if k % 3 else []
    del kept, infos
    gc.collect()
    after = [sys.getrefcount(thing) for thing in counted]
    assert max(abs(a - b) for a, b in zip(after, before, strict=True)) < 200


@pytest.mark.parametrize("kind", ["int", "tuple"])
def test_numbers_and_infos_of_every_kind(kind):
    rng = np.random.default_rng(5)
    rows = rng.integers(-(2**62), 2**62, (3, N))
    rows[:, ::2] %= 3  # small ones, which are seen again
    last, size = (rows, 3) if kind == "tuple" else (rows[0], 1)
    told = np.stack([rng.random(N), rng.integers(-9, 9, N).astype(float), rng.integers(0, 2, N)])
    fill = FinalObservations(
        FinalForm(kind, size, ("float", "int", "bool")), last, np.zeros(N, np.int64), told
    )
    for _ in range(50):
        over = rng.random(N) < 0.6
        kept, *arrays = fill.of(np.flatnonzero(over))
        for i in range(N):
            expected = tuple(rows[:, i].tolist()) if kind == "tuple" else int(rows[0, i])
            assert kept[i] == (expected if over[i] else None)
            numbers = kept[i] if isinstance(kept[i], tuple) else (kept[i],)
            assert all(type(number) is int for number in numbers) or not over[i]
        values = [np.where(over, row, 0).astype(t) for row, t in zip(told, "dqb", strict=True)]
        values[2] = values[2].astype(np.bool_)
        wanted = [over, over, values[0], over, values[1], over, values[2], over]
        for array, right in zip(arrays, wanted, strict=True):
            assert array.dtype == right.dtype
            np.testing.assert_array_equal(array, right)
        rows[:] = np.roll(rows, 1, axis=1)
