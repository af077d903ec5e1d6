"""Batches with native threads, used in a process that was forked."""

from __future__ import annotations

import os
import signal
import warnings

import numpy as np
import pytest

import ludus
from ludus.errors import DependencyNotInstalled, Error


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
