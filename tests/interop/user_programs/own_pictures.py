import os

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
import gymnasium as gym
import numpy as np
import pygame
from gymnasium.envs.box2d import LunarLander
from gymnasium.envs.classic_control import AcrobotEnv, CartPoleEnv, MountainCarEnv
from gymnasium.envs.toy_text import BlackjackEnv


class Drawn(CartPoleEnv):
    """A picture of its own, drawn as Gymnasium's environments draw theirs."""

    def render(self):
        if self.screen is None:
            pygame.init()
            self.screen = pygame.Surface((80, 40))
        if self.clock is None:
            self.clock = pygame.time.Clock()
        self.screen.fill((9, 9, 9))
        x = int(40 + 15 * self.state[0])
        pygame.draw.rect(self.screen, (200, 0, 0), (x - 4, 20, 8, 8))
        return np.transpose(np.array(pygame.surfarray.pixels3d(self.screen)), (1, 0, 2))

    def close(self):
        if self.screen is not None:
            self.screen, self.isopen = None, False


env = Drawn(render_mode="rgb_array")
print(env.isopen, env.screen, env.clock)
env.reset(seed=1)
picture = env.render()
print(picture.shape, picture.sum(), env.isopen)
env.close()
print(env.isopen, LunarLander().isopen, LunarLander().screen, gym.make("Pendulum-v1").unwrapped.isopen)


class Shaped(MountainCarEnv):
    def step(self, action):
        obs, reward, terminated, truncated, info = super().step(action)
        return obs, reward + float(self._height(obs[0])), terminated, truncated, info


env = Shaped()
env.reset(seed=2)
print([round(float(env.step(2)[1]), 4) for _ in range(3)], np.round(env._height(np.array([-1.0, 0.0, 0.5])), 4).tolist())


class High(AcrobotEnv):
    def step(self, action):
        obs, reward, terminated, truncated, info = super().step(action)
        rates = self._dsdt(np.append(self.state, 0.5))
        return obs, reward, self._terminal(), truncated, {"rates": np.round(rates, 4).tolist()}


env = High()
env.reset(seed=3)
print([env.step(k % 3)[2:] for k in range(3)])
env.state = np.array([3.0, 0.1, 0.0, 0.0])
print(env._terminal())


class Dealt(BlackjackEnv):
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.player, self.dealer = [10, 1], [5, 6]
        return self._get_obs(), {}


env = Dealt()
print(env.reset(seed=1), [type(part).__name__ for part in env._get_obs()])
print(env.step(1), env._get_obs(), [int(card) for card in env.player])
for options in ({"low": -0.01, "high": 0.01}, {"low": 1, "high": 0}, {"low": "x"}, 3):
    try:
        print(np.round(gym.make("CartPole-v1").reset(seed=1, options=options)[0], 5).tolist())
    except (TypeError, ValueError) as problem:
        print([kind.__name__ for kind in (TypeError, ValueError) if isinstance(problem, kind)])
