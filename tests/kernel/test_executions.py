"""Batches of kernels: as plain Python, beside single environments, copied, and with any generator.

That all executions give the same bits over long runs is tested in ``test_bit_equality.py``, that
states replay in ``tests/envs/test_state_replay.py``.
"""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

import ludus
from ludus.core import AutoresetMode
from ludus.testing import VectorEnvConformance
from ludus.vector import SyncVectorEnv
from tests.kernel.families import bare, kernel_ids, limit_of, some_ids
from tests.reference.twins import assert_same
from tests.sampling import sampled

IDS = kernel_ids()
SEEDS = 4
STEPS = 150
SOME = some_ids()
PAIRS = [
    pytest.param(each, mode, id=f"{each}-{mode.value}") for each in SOME for mode in AutoresetMode
]
each_id_and_mode = pytest.mark.parametrize(
    ("env_id", "mode"), sampled(PAIRS, len(SOME), by=lambda pair: pair.values[0])
)


def vector(env_id, n, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return type(bare(env_id)).vector(
            n, max_episode_steps=limit_of(env_id), **ludus.spec(env_id).kwargs, **options
        )


def actions_for(env_id, n, steps=STEPS):
    space = vector(env_id, n).action_space
    space.seed(5)
    return [space.sample() for _ in range(steps)]


def play(envs, actions, mode):
    out = [envs.reset(seed=3)]
    for batch in actions:
        out.append(envs.step(batch))
        if mode is AutoresetMode.DISABLED:
            over = out[-1][2] | out[-1][3]
            if over.any():
                out.append(envs.reset(options={"reset_mask": over}))
    out.append(envs.get_state()["storage"]["U"])
    return out


@each_id_and_mode
def test_plain_and_compiled_batches_agree_to_the_last_bit(env_id, mode, monkeypatch):
    actions = actions_for(env_id, SEEDS, 60)
    compiled = play(vector(env_id, SEEDS, autoreset_mode=mode), actions, mode)
    monkeypatch.setenv("LUDUS_JIT", "0")
    plain = play(vector(env_id, SEEDS, autoreset_mode=mode), actions, mode)
    assert_same(plain, compiled)


@each_id_and_mode
def test_batch_returns_what_single_environments_return(env_id, mode):
    def single():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ludus.make(env_id, disable_env_checker=True)

    actions = actions_for(env_id, SEEDS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = SyncVectorEnv([single] * SEEDS, autoreset_mode=mode)
        batch = vector(env_id, SEEDS, autoreset_mode=mode)
        assert batch.observation_space == reference.observation_space
        assert batch.action_space == reference.action_space
        assert_same(reference.reset(seed=3), batch.reset(seed=3), "reset")
        for number, action in enumerate(actions):
            expected, found = reference.step(action), batch.step(action)
            assert_same(expected, found, f"step {number}")
            over = expected[2] | expected[3]
            if mode is AutoresetMode.DISABLED and over.any():
                mask = {"reset_mask": over}
                assert_same(reference.reset(options=mask), batch.reset(options=mask), "masked")


@pytest.mark.parametrize("env_id", IDS)
def test_copies_go_on_alike_and_apart(env_id):
    env = bare(env_id)
    env.action_space.seed(2)
    env.reset(seed=6)
    action = env.action_space.sample()
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        other = copy.deepcopy(env)
        assert_same(twin.step(action), other.step(action))
        assert_same(twin.reset(), other.reset())


@pytest.mark.parametrize("env_id", IDS)
def test_the_generator_is_shared_with_the_kernel(env_id):
    env, twin = bare(env_id), bare(env_id)
    env.reset(seed=8)
    twin.reset(seed=8)
    assert env.np_random.bit_generator.state == twin.np_random.bit_generator.state
    env.np_random.random(3)
    twin.np_random.random(3)
    assert_same(env.reset(), twin.reset())


def test_any_numpy_generator_can_be_assigned():
    env = bare("CartPole-v1")
    env.np_random = np.random.Generator(np.random.MT19937(3))
    expected = np.random.Generator(np.random.MT19937(3)).uniform(-0.05, 0.05, 4)
    np.testing.assert_array_equal(env.reset()[0], expected.astype(np.float32))
    env.step(0)


class TestCartPoleConformance(VectorEnvConformance):
    def make(self, num_envs, autoreset_mode):
        return vector("CartPole-v1", num_envs, autoreset_mode=autoreset_mode)

    def make_single(self):
        return ludus.make("CartPole-v1")
