import gymnasium as gym
import numpy as np
from gymnasium.envs.classic_control.acrobot import AcrobotEnv


class Angles(AcrobotEnv):
    LINK_MASS_2 = 1.5
    book_or_nips = "nips"

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.observation_space = gym.spaces.Box(-np.pi, np.pi, (2,), np.float32)

    def _get_ob(self):
        return np.array(self.state[:2], dtype=np.float32)


env = Angles()
obs, _ = env.reset(seed=3)
print(obs.round(5).tolist(), env.LINK_MASS_2, Angles.LINK_MASS_2, AcrobotEnv.LINK_MASS_2)
for action in (0, 2, 2, 0, 1):
    obs, reward, terminated, truncated, info = env.step(action)
print(obs.round(4).tolist(), reward, terminated, np.round(env.state, 4).tolist())
print(super(Angles, env)._get_ob().round(4).tolist())
