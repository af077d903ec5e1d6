"""Batches with native threads, used in a process that was forked."""

from __future__ import annotations

import os
import signal
import warnings

import numpy as np
import pytest

import ludus
from ludus.errors import DependencyNotInstalled, Error
from ludus.vector import AsyncVectorEnv, SyncVectorEnv
from ludus.wrappers.vector import RecordEpisodeStatistics
from tests.sandbox.support import needs
from tests.untrusted.support import hostile, options
from tests.vector.test_custom_worker import plain_worker


def in_a_child(use):
    """Return what a forked process says of calling ``use``, within ten seconds."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about threads, which are the point
        pid = os.fork()
    if pid == 0:
        signal.alarm(10)
        try:
            use()
            said = "nothing"
        except Error as problem:
            said = str(problem)
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = answer.read()
    assert os.waitpid(pid, 0)[1] == 0
    return said


@pytest.mark.parametrize("env_id", ["Ant-v5", "ALE/Pong-v5", "LunarLander-v3", "CartPole-v1"])
def test_a_forked_process_does_not_wait_for_threads_that_it_has_not(env_id):
    try:
        envs = ludus.make_vec(env_id, 8, num_threads=2)
    except DependencyNotInstalled as problem:
        pytest.skip(str(problem))
    with envs:
        envs.reset(seed=0)
        envs.action_space.seed(0)
        actions = envs.action_space.sample()
        envs.step(actions)
        said = in_a_child(lambda: envs.step(actions))
        # Ludus's own threads are started where they are needed; those of engines are not.
        expected = "nothing" if env_id in ("LunarLander-v3", "CartPole-v1") else "Build another"
        assert expected in said
        assert envs.step(actions)[0].shape == envs.observation_space.shape


def test_a_forked_process_drops_a_batch_of_robots_without_waiting():
    pytest.importorskip("mujoco", exc_type=ImportError)
    envs = ludus.make_vec("Hopper-v5", 4, num_threads=2)
    envs.reset(seed=0)
    envs.step(np.zeros((4, 3)))
    assert in_a_child(envs.close) == "nothing"
    envs.step(np.zeros((4, 3)))
    envs.close()


def _make_cartpole():
    return ludus.make("CartPole-v1")


BATCHES = {
    "processes": lambda: ludus.make_vec("CartPole-v1", 2, vectorization_mode="async"),
    "custom worker": lambda: AsyncVectorEnv([_make_cartpole] * 2, worker=plain_worker),
    "wrapped processes": lambda: RecordEpisodeStatistics(
        ludus.make_vec("CartPole-v1", 2, vectorization_mode="async")
    ),
    "threads": lambda: ludus.make_vec("CartPole-v1", 64, num_threads=3),
    "robots": lambda: ludus.make_vec("Hopper-v5", 4, num_threads=2),
    "games": lambda: ludus.make_vec("ALE/Pong-v5", 2, num_threads=2),
    "bodies": lambda: ludus.make_vec("LunarLander-v3", 8, num_threads=2),
}
WORK = ("threads", "bodies")


@pytest.mark.parametrize("kind", BATCHES)
def test_batches_in_a_forked_process_work_or_say_why_not(kind):
    try:
        envs = BATCHES[kind]()
    except DependencyNotInstalled as problem:
        pytest.skip(str(problem))
    with envs:
        check(envs, "nothing" if kind in WORK else "Build another")


def check(envs, expected):
    """Use a batch in children, then here: it must be as if they had not been."""
    envs.reset(seed=0)
    envs.action_space.seed(0)
    actions = envs.action_space.sample()
    envs.step(actions)
    for use in (lambda: envs.step(actions), envs.reset, lambda: envs.reset(seed=3)):
        assert expected in in_a_child(use)
    assert in_a_child(envs.close) == "nothing"
    shape = envs.observation_space.shape
    assert envs.step(actions)[0].shape == shape
    assert envs.reset(seed=1)[0].shape == shape


@pytest.mark.parametrize("call", ["render", "get_state", "call", "set_attr", "step_wait"])
def test_no_call_reaches_workers_from_a_forked_process(call):
    arguments = {"call": ("render",), "set_attr": ("x", 1)}.get(call, ())
    with ludus.make_vec("CartPole-v1", 2, vectorization_mode="async") as envs:
        envs.reset(seed=0)
        assert "Build another" in in_a_child(lambda: getattr(envs, call)(*arguments))
        envs.step([0, 1])


@needs("bubblewrap", root=True)
@pytest.mark.parametrize("shares", [True, False])
def test_sandboxed_environments_in_a_forked_process(shares):
    sandbox = options(share_memory=shares, step_timeout=10.0)
    with hostile("honest:Honest", sandbox=sandbox, num_envs=2) as envs:
        check(envs, "this is a fork of it")
    with hostile("honest:Honest", sandbox=sandbox) as env:
        env.reset(seed=0)
        for use in (lambda: env.step(0), env.reset, env.render):
            assert "this is a fork of it" in in_a_child(use)
        assert in_a_child(env.close) == "nothing"
        env.step(0)


@needs("bubblewrap", root=True)
def test_a_batch_of_sandboxed_environments_in_a_forked_process():
    with SyncVectorEnv([lambda: hostile("honest:Honest", sandbox=options())] * 2) as envs:
        check(envs, "this is a fork of it")
