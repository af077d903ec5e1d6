import gymnasium as gym
import numpy as np
from gymnasium.wrappers.vector import DictInfoToList, NormalizeReward, RecordEpisodeStatistics
from gymnasium.wrappers.vector import RescaleAction, TransformObservation, VectorizeTransformReward
from gymnasium.wrappers import TransformReward

envs = gym.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync", max_episode_steps=12)
envs = RecordEpisodeStatistics(envs, buffer_length=10)
envs = VectorizeTransformReward(envs, TransformReward, func=lambda r: r * 0.5)
envs.reset(seed=1)
envs.action_space.seed(1)
for _ in range(30):
    obs, rewards, terminations, truncations, infos = envs.step(envs.action_space.sample())
    if "episode" in infos:
        print(infos["episode"]["r"].tolist(), infos["episode"]["l"].tolist(), infos["_episode"].tolist())
print(rewards.tolist(), rewards.dtype)
envs = DictInfoToList(gym.make_vec("Taxi-v4", num_envs=2, vectorization_mode="sync"))
obs, infos = envs.reset(seed=1)
print(obs.tolist(), [sorted(info) for info in infos], infos[0]["prob"])
envs = TransformObservation(
    gym.make_vec("Pendulum-v1", num_envs=2, vectorization_mode="sync"), lambda o: o.round(1)
)
print(envs.reset(seed=3)[0].tolist())
