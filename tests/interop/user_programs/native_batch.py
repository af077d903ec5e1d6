import gymnasium as gym
import numpy as np

envs = gym.make_vec("CartPole-v1", num_envs=3, vectorization_mode="vector_entry_point")
print(envs.unwrapped.state)
obs, info = envs.reset(seed=0)
print(obs.shape, obs.dtype, envs.unwrapped.state.shape, envs.unwrapped.state.dtype)
envs.unwrapped.state[0] = 0.5
envs.unwrapped.state[2, 1] = 0.1
obs, rewards, terminations, truncations, infos = envs.step(np.array([1, 0, 1]))
print((np.abs(obs[:, 0] - 0.5) < 0.01).tolist(), abs(float(obs[1, 2]) - 0.1) < 0.01)
envs.unwrapped.state = np.zeros((4, 3))
obs, *_ = envs.step(np.array([1, 1, 0]))
print(obs.round(5).tolist())
envs.unwrapped.gravity = 0.0
envs.unwrapped.force_mag = 1.0
envs.unwrapped.state = np.full((4, 3), 0.05)
obs, *_ = envs.step(np.array([0, 1, 1]))
print(obs.round(5).tolist(), envs.unwrapped.gravity)
envs.unwrapped.state = np.full((4, 3), 2.5)
print(envs.step(np.array([0, 1, 1]))[2].tolist())
