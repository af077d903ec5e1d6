import copy

import gymnasium as gym
import numpy as np
from gymnasium.envs.box2d import BipedalWalker


class Flatter(BipedalWalker):
    def step(self, action):
        obs, reward, terminated, truncated, info = super().step(action)
        ahead = int(np.searchsorted(self.terrain_x, self.hull.position.x))
        slope = self.terrain_y[ahead + 1] - self.terrain_y[ahead]
        return (
            obs,
            float(reward) - abs(slope),
            terminated,
            truncated,
            {"slope": round(float(slope), 5)},
        )


for hardcore in (False, True):
    env = Flatter(hardcore=hardcore)
    env.reset(seed=4)
    for _ in range(5):
        obs, reward, *_, info = env.step(np.array([0.5, -0.5, 0.25, 1.0]))
    print(obs[:3].round(5).tolist(), round(reward, 5), info, round(env.scroll, 4))
    print(len(env.terrain_x), np.round(env.terrain_y[100:106], 5).tolist())

race = gym.make("CarRacing-v3").unwrapped
race.reset(seed=2)
for _ in range(10):
    race.step(np.array([0.0, 0.5, 0.0]))
print(len(race.road_poly), len(race.track), len(race.road))
for corners, color in race.road_poly[:4]:
    print(np.round(corners, 4).tolist(), np.round(color, 3).tolist())
twin = copy.deepcopy(gym.make("CarRacing-v3"))
twin.reset(seed=2)
print(len(twin.unwrapped.road_poly) == len(race.road_poly))
