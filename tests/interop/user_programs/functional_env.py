import gymnasium as gym
import numpy as np
from gymnasium.experimental.functional import FuncEnv


class Drift(FuncEnv):
    observation_space = gym.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def initial(self, rng, params=None):
        return np.zeros(2) + 0.1

    def transition(self, state, action, rng, params=None):
        return state + np.array([0.0, 0.05]) * (2 * action - 1)

    def observation(self, state, rng, params=None):
        return state.astype(np.float32)

    def reward(self, state, action, next_state, rng, params=None):
        return float(next_state.sum() - state.sum())

    def terminal(self, state, rng, params=None):
        return bool(abs(state[1]) > 0.18)


env = Drift()
state, steps = env.initial(None), 0
while not env.terminal(state, None):
    after = env.transition(state, 1, None)
    print(env.observation(after, None).round(3).tolist(), round(env.reward(state, 1, after, None), 3))
    state, steps = after, steps + 1
print(steps, env.state_info(state) if hasattr(env, "state_info") else None)
env.transform(lambda f: f)
print(env.observation_space)
