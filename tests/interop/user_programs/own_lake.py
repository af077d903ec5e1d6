import gymnasium as gym
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv, generate_random_map


class Windy(FrozenLakeEnv):
    """A lake on which every step also costs."""

    def __init__(self, cost=0.1, **kwargs):
        super().__init__(**kwargs)
        self.cost = cost
        for state, actions in self.P.items():
            for action, row in actions.items():
                actions[action] = [(p, n, r - cost, d) for p, n, r, d in row]


env = Windy(desc=generate_random_map(size=6, p=0.8, seed=3), is_slippery=False, render_mode="ansi")
obs, info = env.reset(seed=0)
path = []
for action in [2, 1, 2, 1, 2, 1, 1, 2]:
    obs, reward, terminated, truncated, info = env.step(action)
    path.append((obs, round(float(reward), 3), terminated))
print(path)
print(env.render())
print(env.desc.shape, env.nrow, env.ncol, env.observation_space, env.s == obs)
