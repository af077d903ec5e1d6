import gymnasium as gym
import numpy as np
from gymnasium.wrappers import NormalizeObservation, NormalizeReward

env = NormalizeReward(NormalizeObservation(gym.make("Pendulum-v1")), gamma=0.9)
env.action_space.seed(0)
obs, _ = env.reset(seed=0)
for _ in range(50):
    obs, reward, *_ = env.step(env.action_space.sample())
print(obs.round(3).tolist(), obs.dtype, round(float(reward), 3))
inner = env.env
inner.update_running_mean = False
mean = inner.obs_rms.mean.copy()
env.step(np.array([1.0]))
print(np.array_equal(mean, inner.obs_rms.mean), mean.round(3).tolist(), round(float(env.return_rms.var), 3))
