import gymnasium as gym
import numpy as np
from gymnasium.envs.mujoco.humanoid_v5 import HumanoidEnv, mass_center
from gymnasium.envs.mujoco.mujoco_env import MujocoEnv

for name, options in {
    "Ant-v5": {"include_cfrc_ext_in_observation": False, "healthy_reward": 2.0},
    "Hopper-v5": {"exclude_current_positions_from_observation": False},
    "InvertedPendulum-v5": {},
}.items():
    env = gym.make(name, **options)
    print(env.unwrapped.observation_structure, isinstance(env.unwrapped, MujocoEnv))
    env.reset(seed=2)
    env.action_space.seed(2)
    for _ in range(3):
        obs, reward, *_, info = env.step(env.action_space.sample())
    print(np.round(obs[:4], 4).tolist(), round(float(reward), 4), sorted(info))
env = HumanoidEnv()
env.reset(seed=1)
print(np.round(mass_center(env.model, env.data), 5).tolist())
env.model.opt.gravity[2] = -3.0
env.model.body_mass[:] *= 1.5
obs, *_ = env.step(np.full(17, 0.1))
print(np.round(obs[:5], 4).tolist(), env.dt, env.frame_skip, env.data.qpos.shape)
qpos, qvel = env.data.qpos.copy(), env.data.qvel.copy()
qpos[2] += 1.0
env.set_state(qpos, qvel)
print(round(float(env.data.qpos[2]), 4), np.round(env.get_body_com("torso"), 4).tolist())
