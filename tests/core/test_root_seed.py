from __future__ import annotations

import numpy as np
import pytest

import ludus
from ludus.core.root_seed import reset_from_root
from ludus.errors import Error
from ludus.testing.envs import CounterEnv


def trace(root):
    env = ludus.make("CartPole-v1")
    first, _ = reset_from_root(env, root)
    steps = [env.step(env.action_space.sample())[0] for _ in range(5)]
    return np.concatenate([first, *steps])


def test_one_number_fixes_everything():
    np.testing.assert_array_equal(trace(5), trace(5))
    assert (trace(5) != trace(6)).any()


def test_a_batch_holds_the_single_environment():
    env = ludus.make("CartPole-v1")
    with ludus.make_vec("CartPole-v1", 3, vectorization_mode="sync") as envs:
        batch, _ = reset_from_root(envs, 9)
        np.testing.assert_array_equal(batch[0], reset_from_root(env, 9)[0])
        assert len({row.tobytes() for row in batch}) == 3


def test_bad_root():
    with pytest.raises(Error, match="-1"):
        reset_from_root(CounterEnv(), -1)
