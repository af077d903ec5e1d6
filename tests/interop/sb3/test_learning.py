"""SB3's wrappers, callbacks and algorithms on ``LudusVecEnv``."""

from __future__ import annotations

import inspect
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
import torch

import ludus
from ludus.interop.gymnasium import to_gymnasium

pytest.importorskip("stable_baselines3")

from stable_baselines3 import DQN, PPO, SAC
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.env_util import make_vec_env as make_dummy_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    SubprocVecEnv,
    VecCheckNan,
    VecFrameStack,
    VecMonitor,
    VecNormalize,
    VecTransposeImage,
)

from ludus.interop.sb3 import LudusVecEnv, make_vec_env
from tests.interop.sb3.test_vec_env import step_both

SHORT = {"max_episode_steps": 17}
WRAPPERS = {
    "VecNormalize": VecNormalize,
    "VecFrameStack": lambda env: VecFrameStack(env, 3),
    "VecCheckNan": lambda env: VecCheckNan(env, raise_exception=True),
    "both": lambda env: VecFrameStack(VecNormalize(env, norm_reward=False), 2),
}


@pytest.fixture(autouse=True)
def one_thread():
    """Small networks on a busy machine: threads would wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def both(env_id, **options):
    arguments = {"n_envs": 3, "seed": 5, **options}
    return make_vec_env(env_id, **arguments), make_vec_env(
        env_id, vec_env_cls=DummyVecEnv, **arguments
    )


@pytest.mark.parametrize("name", WRAPPERS)
def test_wrappers_see_what_they_see_of_single_environments(name):
    pair = both("CartPole-v1", env_kwargs=SHORT)
    assert step_both(*map(WRAPPERS[name], pair), 60) > 5


@pytest.mark.filterwarnings("ignore:The environment is already wrapped")
def test_vec_monitor_on_top():
    assert step_both(*map(VecMonitor, both("CartPole-v1", env_kwargs=SHORT)), 40) > 3


def test_images_are_transposed_and_stacked():
    arguments = {"env_kwargs": {"render_mode": None, "max_episode_steps": 4}, "n_envs": 2}
    pair = both("CarRacing-v3", **arguments)
    assert pair[0].observation_space.shape == (96, 96, 3)
    wrapped = [VecTransposeImage(VecFrameStack(env, 2)) for env in pair]
    assert step_both(*wrapped, 9) == 4


def test_the_arguments_are_those_of_stable_baselines():
    ours, theirs = (inspect.signature(fn).parameters for fn in (make_vec_env, make_dummy_vec_env))
    assert list(ours) == list(theirs)
    assert [row.default for row in ours.values()] == [row.default for row in theirs.values()]


def test_action_spaces_are_seeded_alike():
    ours = make_vec_env("Pendulum-v1", 2, seed=4, start_index=2)
    theirs = make_dummy_vec_env("Pendulum-v1", 2, seed=4, start_index=2)
    np.testing.assert_array_equal(ours.action_space.sample(), theirs.action_space.sample())


def test_single_environments_where_they_are_needed():
    def clipped(env, bound):
        return gymnasium.wrappers.TransformReward(env, lambda reward: min(reward, bound))

    env = make_vec_env(
        "CartPole-v1", 2, seed=1, wrapper_class=clipped, wrapper_kwargs={"bound": 0.5}
    )
    assert type(env) is DummyVecEnv
    env.reset()
    assert env.step(np.array([0, 1]))[1].tolist() == [0.5, 0.5]
    for build in (lambda: ludus.make("CartPole-v1"), lambda: gymnasium.make("CartPole-v1")):
        env = make_vec_env(build, 2)
        assert env.reset().shape == (2, 4)


def test_processes_of_stable_baselines():
    options = {"vec_env_cls": SubprocVecEnv, "vec_env_kwargs": {"start_method": "fork"}}
    env = make_vec_env("CartPole-v1", 2, seed=1, **options)
    try:
        ours = make_vec_env("CartPole-v1", 2, seed=1)
        np.testing.assert_array_equal(env.reset(), ours.reset())
    finally:
        env.close()


@pytest.mark.parametrize(("algorithm", "env_id"), [(DQN, "CartPole-v1"), (SAC, "Pendulum-v1")])
def test_replay_buffers_hold_true_last_observations(algorithm, env_id):
    env = make_vec_env(env_id, 4, seed=0, env_kwargs=SHORT)
    model = algorithm(
        "MlpPolicy", env, buffer_size=400, learning_starts=10_000, seed=0, device="cpu"
    )
    model.learn(200)
    buffer = model.replay_buffer
    ended = np.argwhere(buffer.dones[: buffer.pos] > 0)
    assert len(ended) >= 8
    for step, index in ended[: -env.num_envs].tolist():
        following = buffer.observations[step + 1, index]
        assert not np.array_equal(buffer.next_observations[step, index], following)
    running = np.argwhere(buffer.dones[: buffer.pos - 1] == 0)
    for step, index in running.tolist():
        following = buffer.observations[step + 1, index]
        np.testing.assert_array_equal(buffer.next_observations[step, index], following)
    assert env.get_attr("spec")[0].id == env_id


def test_ppo_learns_is_saved_and_goes_on(tmp_path):
    env = VecNormalize(make_vec_env("CartPole-v1", 8, seed=0), norm_obs=False, norm_reward=False)
    options = {"n_steps": 32, "batch_size": 256, "n_epochs": 20, "gae_lambda": 0.8}
    model = PPO("MlpPolicy", env, gamma=0.98, learning_rate=1e-3, seed=0, device="cpu", **options)
    watched = make_vec_env("CartPole-v1", 4, seed=100)
    before, _ = evaluate_policy(model, watched, n_eval_episodes=16, deterministic=False)
    callback = EvalCallback(
        VecNormalize(make_vec_env("CartPole-v1", 4), norm_obs=False, training=False),
        eval_freq=1000,
        n_eval_episodes=4,
        best_model_save_path=str(tmp_path),
        verbose=0,
    )
    model.learn(20_480, callback=callback)
    after, _ = evaluate_policy(model, watched, n_eval_episodes=8)
    # Random actions keep the pole up for twenty steps or so.
    assert before < 100
    assert after > 250
    assert model.ep_info_buffer[-1].keys() == {"r", "l", "t"}
    model.save(tmp_path / "model")
    env.save(str(tmp_path / "normalize"))
    restored = VecNormalize.load(str(tmp_path / "normalize"), make_vec_env("CartPole-v1", 8))
    again = PPO.load(tmp_path / "model", env=restored, device="cpu")
    assert evaluate_policy(again, watched, n_eval_episodes=8)[0] > 250
    again.learn(256)
    assert (tmp_path / "best_model.zip").exists()


def test_an_evaluation_gives_what_it_gives_on_single_environments():
    model = PPO("MlpPolicy", make_vec_env("CartPole-v1", 2), seed=3, device="cpu")
    results = [
        evaluate_policy(model, env, n_eval_episodes=9, return_episode_rewards=True)
        for env in both("CartPole-v1")
    ]
    assert results[0] == results[1]


def test_an_adapted_environment_and_a_batch_are_learnt_alike():
    arguments = {"n_steps": 64, "batch_size": 64, "n_epochs": 1, "seed": 0, "device": "cpu"}
    weights = []
    for env in both("CartPole-v1"):
        model = PPO("MlpPolicy", env, **arguments).learn(400)
        weights.append([part.detach().numpy().copy() for part in model.policy.parameters()])
    for ours, theirs in zip(*weights, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert to_gymnasium(ludus.make("CartPole-v1")).spec.id == "CartPole-v1"


def test_what_an_algorithm_takes_as_a_single_environment():
    """As docs/interop.md says; the first is SB3's check, which nothing but inheritance passes."""
    import ludus.gymnasium

    arguments = {"n_steps": 16, "batch_size": 16, "n_epochs": 1, "seed": 0, "device": "cpu"}
    with pytest.raises(ValueError, match="not a Gymnasium environment"):
        PPO("MlpPolicy", ludus.make("CartPole-v1"), **arguments)
    for env in (
        "ludus/CartPole-v1",
        to_gymnasium(ludus.make("CartPole-v1")),
        Monitor(ludus.make("CartPole-v1")),
    ):
        assert PPO("MlpPolicy", env, **arguments).learn(32).num_timesteps == 32


MISSING = """
import sys
sys.modules["stable_baselines3"] = None
import ludus.interop.sb3
from ludus.errors import DependencyNotInstalled
try:
    ludus.interop.sb3.make_vec_env
except DependencyNotInstalled as problem:
    print(problem)
"""


def test_without_stable_baselines_the_extra_is_named():
    done = subprocess.run(
        [sys.executable, "-c", MISSING], capture_output=True, text=True, timeout=60, check=True
    )
    assert "pip install 'ludus-gym[sb3]'" in done.stdout


def test_names():
    assert ludus.interop.sb3.LudusVecEnv is LudusVecEnv
    with pytest.raises(AttributeError, match="LudusVec'"):
        _ = ludus.interop.sb3.LudusVec
