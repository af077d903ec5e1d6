"""Learning libraries on Ludus: under Gymnasium's name, and through the adapter."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.interop.programs import check_program, run_script

EXAMPLE = Path(__file__).parents[2] / "examples" / "ppo_cleanrl_style.py"

needs_sb3 = pytest.mark.skipif(not find_spec("stable_baselines3"), reason="needs SB3")
needs_torchrl = pytest.mark.skipif(not find_spec("torchrl"), reason="needs TorchRL")

SB3 = """
import gymnasium as gym
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import SubprocVecEnv, VecNormalize

def learn(env):
    model = PPO("MlpPolicy", env, n_steps=128, batch_size=64, n_epochs=1, seed=0, device="cpu")
    return model.learn(512)

def main():
    assert gym.__ludus__
    check_env(gym.make("CartPole-v1", render_mode="rgb_array"))
    check_env(Monitor(gym.make("Pendulum-v1")), warn=False)
    model = learn(make_vec_env("CartPole-v1", n_envs=2))
    assert model.ep_info_buffer[0]["l"] > 0
    print("mean", evaluate_policy(model, Monitor(gym.make("CartPole-v1")), n_eval_episodes=2)[0])
    learn(VecNormalize(make_vec_env("Pendulum-v1", n_envs=2)))
    model.save("model")
    PPO.load("model", env=make_vec_env("CartPole-v1"))
    for method in {methods}:
        options = {{"vec_env_cls": SubprocVecEnv, "vec_env_kwargs": {{"start_method": method}}}}
        env = make_vec_env("CartPole-v1", n_envs=2, seed=0, **options)
        learn(env)
        env.close()
        print(method)

if __name__ == "__main__":
    main()
"""


@needs_sb3
def test_stable_baselines_under_the_alias(tmp_path: Path) -> None:
    printed = check_program(SB3.format(methods='["fork"]'), tmp_path).split()
    assert printed[-1] == "fork"


@needs_sb3
@pytest.mark.slow
def test_stable_baselines_in_fresh_processes(tmp_path: Path) -> None:
    printed = check_program(SB3.format(methods='["forkserver", "spawn"]'), tmp_path).split()
    assert printed[-2:] == ["forkserver", "spawn"]


SB3_ADAPTED = """
import gymnasium
import ludus
from ludus.interop.gymnasium import to_gymnasium
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import SubprocVecEnv, VecNormalize

def build():
    return to_gymnasium(ludus.make("CartPole-v1"))

def main():
    assert not hasattr(gymnasium, "__ludus__")
    check_env(build())
    for options in ({}, {"vec_env_cls": SubprocVecEnv, "vec_env_kwargs": {"start_method": "fork"}}):
        env = VecNormalize(make_vec_env(build, n_envs=2, **options))
        PPO("MlpPolicy", env, n_steps=128, batch_size=64, n_epochs=1, device="cpu").learn(512)
        env.close()
    print("done")

if __name__ == "__main__":
    main()
"""


@needs_sb3
def test_stable_baselines_through_the_adapter(tmp_path: Path) -> None:
    assert check_program(SB3_ADAPTED, tmp_path, aliased=False) == "done\n"


TORCHRL = """
import warnings
warnings.simplefilter("ignore")
import gymnasium
from torchrl.envs import GymEnv, GymWrapper
from torchrl.envs.utils import check_env_specs

def main():
    for env in {envs}:
        check_env_specs(env)
        print(tuple(env.rollout(10, break_when_any_done=False).batch_size))
        env.close()

if __name__ == "__main__":
    main()
"""


@needs_torchrl
def test_torchrl_under_the_alias(tmp_path: Path) -> None:
    envs = '[GymEnv("CartPole-v1"), GymWrapper(gymnasium.make("Pendulum-v1"))]'
    assert check_program(TORCHRL.format(envs=envs), tmp_path).splitlines().count("(10,)") == 2


@needs_torchrl
@pytest.mark.slow
def test_torchrl_vector_under_the_alias(tmp_path: Path) -> None:
    envs = '[GymEnv("CartPole-v1", num_envs=2)]'
    assert check_program(TORCHRL.format(envs=envs), tmp_path).splitlines()[-1] == "(2, 10)"


@needs_torchrl
@pytest.mark.slow
def test_torchrl_through_the_adapter(tmp_path: Path) -> None:
    code = TORCHRL.replace(
        "import gymnasium", "import ludus; from ludus.interop.gymnasium import to_gymnasium"
    )
    envs = '[GymWrapper(to_gymnasium(ludus.make("CartPole-v1")))]'
    printed = check_program(code.format(envs=envs), tmp_path, aliased=False)
    assert printed.splitlines()[-1] == "(10,)"


@needs_torchrl
def test_torchrl_by_id(tmp_path: Path) -> None:
    code = TORCHRL.replace("import gymnasium", "import gymnasium, ludus.gymnasium")
    printed = check_program(
        code.format(envs='[GymEnv("ludus/CartPole-v1")]'), tmp_path, aliased=False
    )
    assert printed.splitlines()[-1] == "(10,)"


TORCHRL_BATCH = """
import warnings
warnings.simplefilter("ignore")
import ludus, torch
from ludus.interop.gymnasium import to_gymnasium_vector
from torchrl.envs import GymWrapper
from torchrl.envs.utils import check_env_specs

batch = ludus.make_vec("CartPole-v1", num_envs=4, autoreset_mode="Disabled", max_episode_steps=7)
env = GymWrapper(to_gymnasium_vector(batch))
check_env_specs(env)
env.set_seed(0)
seen = env.rollout(30, break_when_any_done=False)
assert seen.batch_size == (4, 30), seen.batch_size
ended = seen["next", "done"].squeeze(-1)
assert ended.sum() >= 16
# After the end of an episode comes the first observation of another, not the last once more.
last, first = seen["next", "observation"][:, :-1], seen["observation"][:, 1:]
assert torch.equal(last[~ended[:, :-1]], first[~ended[:, :-1]])
assert (last[ended[:, :-1]] != first[ended[:, :-1]]).any(-1).all()
assert (first[ended[:, :-1]].abs() <= 0.05).all()
print("done")
"""


@needs_torchrl
def test_torchrl_on_a_compiled_batch(tmp_path: Path) -> None:
    printed = check_program(TORCHRL_BATCH, tmp_path, aliased=False)
    assert printed.splitlines()[-1] == "done"


RLLIB = """
import os
os.environ["RAY_AUTH_MODE"] = "disabled"
import warnings
warnings.simplefilter("ignore")
import ludus.gymnasium, ray
from ray.rllib.algorithms.ppo import PPOConfig

ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
try:
    config = PPOConfig().environment("ludus/CartPole-v1").learners(num_learners=0)
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=4, {options})
    config.training(train_batch_size_per_learner=256, minibatch_size=64, num_epochs=1)
    algorithm = config.build_algo()
    found = algorithm.train()["env_runners"]
    print(algorithm.env_runner.env)
    algorithm.stop()
    assert found["num_env_steps_sampled"] >= 256
    assert found["episode_return_mean"] > 5
finally:
    ray.shutdown()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "kind"),
    [("", "SyncVectorEnv"), ("gym_env_vectorize_mode='vector_entry_point'", "KernelVectorEnv")],
)
def test_rllib_by_id(options: str, kind: str, tmp_path: Path) -> None:
    pytest.importorskip("ray.rllib", reason="RLlib is not installed: pip install 'ray[rllib]'")
    printed = check_program(RLLIB.format(options=options), tmp_path, aliased=False)
    assert kind in printed


@needs_torchrl
def test_an_unmodified_single_file_ppo_learns_the_same_on_both() -> None:
    arguments = ("--total-steps", "2048", "--num-envs", "2")
    outputs = [run_script(EXAMPLE, *arguments, aliased=aliased) for aliased in (True, False)]
    ours, theirs = ([line.split("steps/s")[0] for line in out.splitlines()] for out in outputs)
    assert len(ours) == 8
    assert ours == theirs
