import gymnasium as gym
import numpy as np

envs = gym.make_vec("Taxi-v4", num_envs=3)
obs, infos = envs.reset(seed=2)
print(obs.tolist(), infos["prob"].tolist(), infos["action_mask"].shape, infos["_action_mask"].tolist())
rng = np.random.default_rng(0)
for _ in range(20):
    actions = np.array([int(rng.choice(np.flatnonzero(m))) for m in infos["action_mask"]])
    obs, rewards, terminations, truncations, infos = envs.step(actions)
print(obs.tolist(), rewards.tolist(), infos["action_mask"].tolist())
envs = gym.make_vec("Blackjack-v1", num_envs=3)
obs, _ = envs.reset(seed=2)
print([part.tolist() for part in obs], type(obs).__name__, envs.single_observation_space)
obs, rewards, terminations, *_ = envs.step(np.array([0, 1, 0]))
print([part.tolist() for part in obs], rewards.tolist(), terminations.tolist())
