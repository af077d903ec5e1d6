"""Worker functions of the user's own, in Gymnasium's protocol."""

from __future__ import annotations

import functools
import multiprocessing
import os
import sys
import traceback

import gymnasium
import numpy as np
import pytest
from gymnasium.vector.async_vector_env import _async_worker

from ludus.core import AutoresetMode
from ludus.errors import ClosedEnvironmentError, StateError, WorkerCrashed, WorkerRaised
from ludus.spaces import write_to_shared_memory
from ludus.testing.envs import CounterEnv, DictEnv, SlowEnv
from ludus.vector import AsyncVectorEnv
from tests.reference.twins import assert_same
from tests.vector.test_async_vector_env import assert_same_as_sync


def gymnasiums_worker(index, env_fn, pipe, parent_pipe, memory, errors, mode, semaphore):
    """Run Gymnasium's worker, which knows its own modes and writes to its own spaces only."""
    theirs = gymnasium.vector.AutoresetMode(mode.value)
    _async_worker(index, env_fn, pipe, parent_pipe, None, errors, theirs, semaphore)


def plain_worker(index, env_fn, pipe, parent_pipe, memory, errors, mode):
    """Serve without autoreset, and mark every info."""
    env = env_fn()
    parent_pipe.close()
    try:
        while True:
            command, data = pipe.recv()
            if command == "reset":
                observation, info = env.reset(**data)
                result = (observation, {**info, "mine": index})
            elif command == "step":
                observation, *rest, info = env.step(data)
                result = (observation, *rest, {**info, "mine": index})
            elif command == "_check_spaces":
                result = (data[1] == env.observation_space, data[2] == env.action_space)
            elif command == "_call":
                name, args, kwargs = data
                found = env.get_wrapper_attr(name)
                result = found(*args, **kwargs) if callable(found) else found
            elif command == "_setattr":
                result = env.set_wrapper_attr(*data)
            else:
                pipe.send((None, True))
                break
            if memory is not None and command in ("reset", "step"):
                write_to_shared_memory(env.observation_space, index, result[0], memory)
                result = (None, *result[1:])
            pipe.send((result, True))
    except Exception:
        kind, problem, _ = sys.exc_info()
        errors.put((index, kind, problem, traceback.format_exc()))
        pipe.send((None, False))
    finally:
        env.close()


def silent_worker(index, env_fn, pipe, parent_pipe, memory, errors, mode):
    pipe.recv()
    pipe.send((None, False))


def dying_worker(index, env_fn, pipe, parent_pipe, memory, errors, mode):
    pipe.recv()
    os._exit(7)


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("env_fn", [CounterEnv, DictEnv])
def test_gymnasiums_own_worker_gives_what_sync_gives(env_fn, mode):
    assert_same_as_sync(env_fn, mode, 60, num_envs=2, worker=gymnasiums_worker, shared_memory=False)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("env_fn", [CounterEnv, DictEnv])
def test_the_users_function_runs(env_fn, shared):
    mode = AutoresetMode.DISABLED
    with (
        AsyncVectorEnv([env_fn] * 2, autoreset_mode=mode) as usual,
        AsyncVectorEnv(
            [env_fn] * 2, autoreset_mode=mode, worker=plain_worker, shared_memory=shared
        ) as custom,
    ):
        assert len(custom.processes) == 2
        for result in (usual.reset(seed=4), custom.reset(seed=4)):
            result[1].pop("mine", None), result[1].pop("_mine", None)
        usual.action_space.seed(0)
        for _ in range(3):
            actions = usual.action_space.sample()
            expected, found = usual.step(actions), custom.step(actions)
            assert found[4].pop("mine").tolist() == [0, 1]
            assert found[4].pop("_mine").all()
            assert_same(expected, found, "step")
            if (expected[2] | expected[3]).any():
                break


def test_masked_resets_and_calls():
    with AsyncVectorEnv([CounterEnv] * 3, worker=plain_worker, autoreset_mode="Disabled") as envs:
        first, _ = envs.reset(seed=1)
        envs.step(envs.action_space.sample())
        after = envs.step(envs.action_space.sample())[0]
        mask = np.array([True, False, True])
        again, infos = envs.reset(seed=1, options={"reset_mask": mask})
        assert_same(again[mask], first[mask], "reset")
        assert_same(again[~mask], after[~mask], "kept")
        assert infos["_mine"].tolist() == [True, False, True]
        envs.set_attr("label", [10, 20, 30])
        assert envs.get_attr("label") == (10, 20, 30)
        with pytest.raises(StateError, match="custom worker"):
            envs.get_state()
        with pytest.raises(ValueError, match="Expected 3 actions"):
            envs.step(envs.action_space.sample()[:2])
    with pytest.raises(ClosedEnvironmentError):
        envs.reset()
    assert not multiprocessing.active_children()


def test_errors_come_with_their_cause():
    with AsyncVectorEnv([CounterEnv] * 2, worker=plain_worker) as envs:
        envs.reset(seed=0)
        with pytest.raises(AttributeError, match="nonsense") as caught:
            envs.call("nonsense")
        assert "environment" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("worker", "problem", "words"),
    [(silent_worker, WorkerRaised, "did not say why"), (dying_worker, WorkerCrashed, "code 7")],
)
def test_workers_that_fail(worker, problem, words, monkeypatch):
    monkeypatch.setattr("ludus.vector.process.pipe_pool._REASON_SECONDS", 1.0)
    with pytest.raises(problem, match=words):
        AsyncVectorEnv([CounterEnv] * 2, worker=worker)
    assert not multiprocessing.active_children()


def test_spaces_must_fit():
    with pytest.raises(RuntimeError, match="observation space of environment 1"):
        AsyncVectorEnv([CounterEnv, DictEnv], worker=plain_worker)
    assert not multiprocessing.active_children()


def test_timeouts():
    env_fn = functools.partial(SlowEnv, 0.5)
    with AsyncVectorEnv([env_fn] * 2, worker=plain_worker) as envs:
        envs.reset(seed=0)
        envs.step_async(envs.action_space.sample())
        with pytest.raises(multiprocessing.TimeoutError, match="environment 0"):
            envs.step_wait(timeout=0.01)
        envs.reset(seed=0)
