import gymnasium as gym
import numpy as np
from gymnasium.envs.classic_control.pendulum import PendulumEnv


class SparsePendulum(PendulumEnv):
    def step(self, u):
        obs, _, terminated, truncated, info = super().step(u)
        theta, speed = self.state
        reward = 1.0 if abs((theta + np.pi) % (2 * np.pi) - np.pi) < 0.2 else 0.0
        return obs, reward, terminated, truncated, {"theta": round(float(theta), 4)}

    def _get_obs(self):
        theta, speed = self.state
        return np.array([np.cos(theta), np.sin(theta), speed / 8.0], dtype=np.float32)


env = SparsePendulum(g=5.0)
obs, info = env.reset(seed=11)
print(obs.round(5).tolist())
print(env.observation_space.contains(obs), env.g)
rewards = []
for k in range(50):
    obs, reward, terminated, truncated, info = env.step(np.array([np.sin(k)]))
    rewards.append(reward)
print(obs.round(4).tolist(), sum(rewards), info)
