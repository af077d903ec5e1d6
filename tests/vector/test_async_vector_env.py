"""The process backend: what it returns, its call order, and its arguments."""

from __future__ import annotations

import functools
import multiprocessing

import numpy as np
import pytest

from ludus import spaces
from ludus.core import AutoresetMode, Env
from ludus.errors import (
    AlreadyPendingCallError,
    ClosedEnvironmentError,
    EpisodeOver,
    NoAsyncCallError,
    StateError,
)
from ludus.testing.envs import CounterEnv, DictEnv, ImageEnv, SlowEnv
from ludus.vector import AsyncVectorEnv, SyncVectorEnv
from tests.reference.twins import assert_same, twin_env

ENVS = {
    "counter": CounterEnv,
    "dict": DictEnv,
    "image": ImageEnv,
    **{
        f"twin-{kind}": functools.partial(twin_env, __import__("ludus"), kind)
        for kind in ("box", "tuple", "discrete", "int_box")
    },
}


def assert_same_as_sync(env_fn, mode, steps, *, num_envs=5, **options):
    """Step both backends with the same actions, and compare everything they return."""
    sync = SyncVectorEnv([env_fn] * num_envs, autoreset_mode=mode)
    with AsyncVectorEnv([env_fn] * num_envs, autoreset_mode=mode, **options) as process:
        assert process.action_space == sync.action_space
        assert process.observation_space == sync.observation_space
        assert_same(sync.reset(seed=7), process.reset(seed=7), "reset")
        sync.action_space.seed(3)
        for step in range(steps):
            actions = sync.action_space.sample()
            expected, found = sync.step(actions), process.step(actions)
            assert_same(expected, found, f"step {step}")
            done = expected[2] | expected[3]
            if mode is AutoresetMode.DISABLED and done.any():
                mask = {"reset_mask": done}
                assert_same(sync.reset(options=mask), process.reset(options=mask), "masked")
    sync.close()


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("name", ENVS)
def test_returns_what_sync_returns(name, mode):
    assert_same_as_sync(ENVS[name], mode, 120, num_workers=2)


@pytest.mark.parametrize("workers", [1, 3, 5])
def test_any_number_of_workers(workers):
    assert_same_as_sync(DictEnv, AutoresetMode.SAME_STEP, 40, num_workers=workers)


def test_observations_through_the_pipe():
    assert_same_as_sync(DictEnv, AutoresetMode.SAME_STEP, 60, shared_memory=False)


@pytest.mark.parametrize("context", ["spawn", "forkserver"])
def test_other_start_methods(context):
    assert_same_as_sync(CounterEnv, AutoresetMode.NEXT_STEP, 20, context=context, num_envs=2)


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("env", [DictEnv, CounterEnv])
def test_a_thousand_steps(env, mode):
    assert_same_as_sync(env, mode, 1_000, num_envs=3)


class TextEnv(Env):
    observation_space = spaces.Text(5)
    action_space = spaces.Sequence(spaces.Discrete(3))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return "start", {}

    def step(self, action):
        return "".join(str(a) for a in action)[:5] or "none", float(len(action)), False, False, {}


def test_spaces_without_a_fixed_size_travel_through_the_pipe():
    assert_same_as_sync(TextEnv, AutoresetMode.NEXT_STEP, 20)


def test_returned_arrays_are_the_callers_own():
    with AsyncVectorEnv([CounterEnv] * 2) as envs:
        first, _ = envs.reset(seed=1)
        kept = first.copy()
        for _ in range(3):
            envs.step(np.ones(2, int))
        np.testing.assert_array_equal(first, kept)


def test_without_copy_observations_are_overwritten():
    with AsyncVectorEnv([CounterEnv] * 2, copy=False) as envs:
        first, _ = envs.reset(seed=1)
        second = envs.step(np.ones(2, int))[0]
        assert second is first


def test_call_get_and_set():
    with AsyncVectorEnv([CounterEnv] * 3, num_workers=2) as envs:
        envs.reset(seed=[5, 6, 7])
        assert envs.get_attr("goal") == (10, 10, 10)
        envs.set_attr("goal", [4, 5, 6])
        assert envs.call("goal") == (4, 5, 6)
        envs.set_attr("limit", 9)
        assert envs.get_attr("limit") == (9, 9, 9)
        assert envs.np_random_seed == (5, 6, 7)
        assert all(isinstance(rng, np.random.Generator) for rng in envs.np_random)
        with pytest.raises(ValueError, match="length equal to the number of environments"):
            envs.set_attr("goal", [1, 2])
        with pytest.raises(ValueError, match="use `step` directly"):
            envs.call("step", 1)


def test_render():
    build = functools.partial(ImageEnv, render_mode="rgb_array")
    with AsyncVectorEnv([build] * 2) as envs:
        envs.reset(seed=0)
        frames = envs.render()
        assert envs.render_mode == "rgb_array"
        assert [frame.shape for frame in frames] == [(16, 20, 3)] * 2


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_state_round_trip(mode):
    rng = np.random.default_rng(0)
    actions = rng.integers(0, 2, (40, 3))
    with AsyncVectorEnv([CounterEnv] * 3, autoreset_mode=mode) as envs:

        def run(rows):
            out = []
            for row in rows:
                result = envs.step(row)
                out.append(result)
                done = result[2] | result[3]
                if mode is AutoresetMode.DISABLED and done.any():
                    envs.reset(options={"reset_mask": done})
            return out

        envs.reset(seed=3)
        run(actions[:10])
        state = envs.get_state()
        expected = run(actions[10:])
        envs.reset(seed=99)
        envs.set_state(state)
        assert_same(expected, run(actions[10:]))
        with pytest.raises(StateError, match="3"):
            envs.set_state({**state, "envs": state["envs"][:2]})


def test_order_of_calls():
    envs = AsyncVectorEnv([CounterEnv] * 2)
    with pytest.raises(NoAsyncCallError, match="reset_async"):
        envs.reset_wait()
    with pytest.raises(NoAsyncCallError, match="step_async"):
        envs.step_wait()
    with pytest.raises(NoAsyncCallError, match="call_async"):
        envs.call_wait()
    envs.reset_async(seed=1)
    for call in (
        lambda: envs.step_async(np.ones(2, int)),
        lambda: envs.reset_async(),
        lambda: envs.call_async("goal"),
        lambda: envs.set_attr("goal", 3),
    ):
        with pytest.raises(AlreadyPendingCallError, match="reset") as caught:
            call()
        assert caught.value.name == "reset"
    envs.reset_wait()
    envs.close()
    envs.close()
    for call in (envs.reset, envs.render, lambda: envs.step(np.ones(2, int))):
        with pytest.raises(ClosedEnvironmentError, match="close"):
            call()


def test_finished_environments_must_be_reset_when_nothing_does():
    with AsyncVectorEnv([CounterEnv] * 2, autoreset_mode=AutoresetMode.DISABLED) as envs:
        envs.reset(seed=0, options={"count": 9})
        assert envs.step(np.array([1, 0]))[2].tolist() == [True, False]
        with pytest.raises(EpisodeOver, match=r"\[0\].*reset_mask"):
            envs.step(np.ones(2, int))
        envs.reset(options={"reset_mask": np.array([True, False])})
        envs.step(np.zeros(2, int))


def test_time_out_names_the_running_environment_and_a_later_call_recovers():
    with AsyncVectorEnv([functools.partial(SlowEnv, 0.4)] * 2, num_workers=2) as envs:
        envs.reset(seed=11)
        envs.step_async(np.array([1, 0]))
        with pytest.raises(multiprocessing.TimeoutError, match=r"environment 0 \(seed 11"):
            envs.step_wait(timeout=0.05)
        observations, _ = envs.reset(seed=11)
        with SyncVectorEnv([CounterEnv] * 2) as reference:
            np.testing.assert_array_equal(observations, reference.reset(seed=11)[0])


def test_close_with_a_pending_call_warns():
    envs = AsyncVectorEnv([CounterEnv] * 2)
    envs.reset_async(seed=1)
    with pytest.warns(UserWarning, match="pending call to `reset`"):
        envs.close()


@pytest.mark.parametrize(
    ("arguments", "problem", "words"),
    [
        ({"env_fns": []}, ValueError, "at least one"),
        ({"num_workers": 0}, ValueError, "num_workers"),
        ({"max_concurrency": -1}, ValueError, "max_concurrency"),
        ({"max_concurrency": "two"}, ValueError, "max_concurrency"),
        ({"on_crash": "ignore"}, ValueError, "on_crash"),
        ({"observation_mode": "odd"}, ValueError, "observation_mode"),
        ({"observation_mode": (1, 2)}, TypeError, "Spaces"),
        ({"autoreset_mode": "never"}, ValueError, "never"),
        ({"worker": print, "num_workers": 2}, ValueError, "serves one environment"),
        ({"worker": print, "on_crash": "restart"}, ValueError, "serves one environment"),
        ({"context": "teleport"}, ValueError, "teleport"),
        ({"env_fns": [CounterEnv, DictEnv]}, RuntimeError, "observation spaces must be equal"),
    ],
)
def test_bad_arguments(arguments, problem, words):
    before = len(multiprocessing.active_children())
    with pytest.raises(problem, match=words):
        AsyncVectorEnv(**{"env_fns": [CounterEnv] * 2, **arguments})
    assert len(multiprocessing.active_children()) == before


@pytest.mark.parametrize(
    ("actions", "problem", "words"),
    [
        (np.ones(3, int), ValueError, "Expected 2 actions"),
        (np.ones((2, 2), int), ValueError, r"shape \(2,\)"),
        (1, TypeError, "array of 2 actions"),
    ],
)
def test_bad_actions(actions, problem, words):
    with AsyncVectorEnv([CounterEnv] * 2) as envs:
        envs.reset(seed=0)
        with pytest.raises(problem, match=words):
            envs.step(actions)
        envs.step(np.ones(2, int))


def test_max_concurrency_bounds_the_workers():
    with AsyncVectorEnv([CounterEnv] * 4, num_workers=4, max_concurrency=2) as envs:
        assert envs.num_workers == 2
        assert len(envs.processes) == 2


def test_wrong_observation_shape_is_reported_not_broadcast():
    class Wrong(CounterEnv):
        def __init__(self):
            super().__init__()
            self.observation_space = spaces.Box(0, 1, (3,))

        def reset(self, *, seed=None, options=None):
            return np.zeros(1, np.float32), {}

    with AsyncVectorEnv([Wrong] * 2) as envs, pytest.raises(ValueError, match=r"shape \(1,\)"):
        envs.reset()


def test_workers_have_different_global_streams():
    class Global(CounterEnv):
        def reset(self, *, seed=None, options=None):
            return np.int64(0), {"draw": float(np.random.random())}

    with AsyncVectorEnv([Global] * 2, num_workers=2) as envs:
        first, second = envs.reset()[1]["draw"]
        assert first != second
