"""The random stream of one kernel environment: seeded as NumPy seeds, whatever was used before."""

from __future__ import annotations

import numpy as np
import pytest

import ludus
from ludus.errors import Error
from ludus.kernel.generator import WORDS, generator_to_words, seed_to_words


@pytest.mark.parametrize(
    "seed", [*range(20), 2**31, 2**32 - 1, 2**32, 2**63, 2**64 + 3, 2**127, 2**128, 2**300 + 7]
)
def test_words_are_those_of_numpys_generator(seed):
    words, expected = np.zeros((2, WORDS), np.uint64)
    assert seed_to_words(seed, words) == seed
    generator_to_words(np.random.default_rng(seed), expected)
    assert words.tolist() == expected.tolist()


def test_without_a_seed_the_system_gives_one_that_can_be_used_again():
    words, again = np.zeros((2, WORDS), np.uint64)
    used = seed_to_words(None, words)
    assert seed_to_words(used, again) == used
    assert words.tolist() == again.tolist()
    assert seed_to_words(None, again) != used


@pytest.mark.parametrize("seed", [-1, 1.5, "1", np.int64(3)])
def test_what_is_no_seed_is_refused(seed):
    with pytest.raises(Error, match="Seed must be"):
        ludus.make("CartPole-v1").reset(seed=seed)


def first_steps(env, seed):
    observations = [env.reset(seed=seed)[0]]
    observations += [env.step(turn % 2)[0] for turn in range(5)]
    return np.array(observations)


@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1"])
@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937])
def test_a_seed_replaces_any_generator(env_id, bits):
    expected = first_steps(ludus.make(env_id).unwrapped, 7)
    env = ludus.make(env_id).unwrapped
    first_steps(env, 3)
    env.np_random = np.random.Generator(bits(5))
    env.reset()
    env.step(0)
    np.testing.assert_array_equal(first_steps(env, 7), expected)
    env._np_random = np.random.Generator(bits(5))
    env._np_random = None
    np.testing.assert_array_equal(first_steps(env, 7), expected)


def test_a_reset_with_options_leaves_the_next_one_alone():
    env = ludus.make("CartPole-v1").unwrapped
    expected = first_steps(env, 4)
    wide, _ = env.reset(seed=4, options={"low": -2.0, "high": 2.0})
    assert np.abs(wide).max() > 0.05
    np.testing.assert_array_equal(first_steps(env, 4), expected)
