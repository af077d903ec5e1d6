import gymnasium as gym
import numpy as np
from gymnasium import ActionWrapper, ObservationWrapper, RewardWrapper, Wrapper
from gymnasium.spaces import Box, Discrete


class RelativePosition(ObservationWrapper):
    def __init__(self, env):
        super().__init__(env)
        self.observation_space = Box(-np.inf, np.inf, (2,), np.float64)

    def observation(self, obs):
        return np.asarray(obs[:2], dtype=np.float64) * 2


class DiscreteTorque(ActionWrapper):
    def __init__(self, env, torques):
        super().__init__(env)
        self.torques = torques
        self.action_space = Discrete(len(torques))

    def action(self, act):
        return np.array([self.torques[act]], dtype=np.float32)


class Clipped(RewardWrapper):
    def reward(self, reward):
        return max(-1.0, float(reward))


class Counter(Wrapper):
    def __init__(self, env):
        super().__init__(env)
        self.count = 0

    def step(self, action):
        self.count += 1
        obs, reward, terminated, truncated, info = self.env.step(action)
        return obs, reward, terminated, truncated or self.count >= 7, {**info, "count": self.count}


env = Counter(Clipped(DiscreteTorque(RelativePosition(gym.make("Pendulum-v1")), [-2, 0, 2])))
print(env)
print(env.observation_space, env.action_space)
obs, info = env.reset(seed=4)
print(obs.round(5).tolist(), info)
env.action_space.seed(4)
over = False
while not over:
    obs, reward, terminated, truncated, info = env.step(env.action_space.sample())
    over = terminated or truncated
print(obs.round(5).tolist(), round(reward, 5), terminated, truncated, info)
print(env.get_wrapper_attr("torques"), env.has_wrapper_attr("nothing"), env.unwrapped.spec.id)
env.set_wrapper_attr("count", 0)
print(env.count, env.env.env.torques, env.render_mode)
try:
    env.get_wrapper_attr("nothing")
except AttributeError as problem:
    print(type(problem).__name__)
