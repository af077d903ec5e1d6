import gymnasium as gym
import numpy as np
from gymnasium.envs.classic_control import CartPoleEnv


class MoonPole(CartPoleEnv):
    def __init__(self, gravity=1.62, **kwargs):
        super().__init__(**kwargs)
        self.gravity = gravity
        self.length = 0.75
        self.polemass_length = self.masspole * self.length
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        self.state = self.np_random.uniform(low=-0.1, high=0.1, size=(4,))
        return np.array(self.state, dtype=np.float32), {"fresh": True}

    def step(self, action):
        obs, reward, terminated, truncated, info = super().step(action)
        self.steps += 1
        reward = float(np.cos(self.state[2])) - 0.01 * abs(self.state[0])
        info["steps"] = self.steps
        return obs, reward, terminated, truncated, info


gym.register("MoonPole-v0", entry_point=MoonPole, max_episode_steps=60, kwargs={"gravity": 2.0})
env = gym.make("MoonPole-v0")
obs, info = env.reset(seed=5)
print(obs.round(5).tolist(), info, env.unwrapped.gravity)
total = 0.0
for step in range(60):
    obs, reward, terminated, truncated, info = env.step(step % 2)
    total += reward
    if terminated or truncated:
        break
print(step, terminated, truncated, info, round(total, 4), obs.round(4).tolist())
print(isinstance(env.unwrapped, CartPoleEnv), gym.make("MoonPole-v0", gravity=9.8).unwrapped.gravity)
