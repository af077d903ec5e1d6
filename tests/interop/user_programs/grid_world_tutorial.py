import gymnasium as gym
import numpy as np


class GridWorld(gym.Env):
    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 4}

    def __init__(self, size: int = 5, render_mode=None):
        self.size = size
        self.render_mode = render_mode
        self._agent = np.array([-1, -1], dtype=np.int32)
        self._target = np.array([-1, -1], dtype=np.int32)
        self.observation_space = gym.spaces.Dict(
            {
                "agent": gym.spaces.Box(0, size - 1, shape=(2,), dtype=int),
                "target": gym.spaces.Box(0, size - 1, shape=(2,), dtype=int),
            }
        )
        self.action_space = gym.spaces.Discrete(4)
        self._moves = {0: (1, 0), 1: (0, 1), 2: (-1, 0), 3: (0, -1)}

    def _get_obs(self):
        return {"agent": self._agent.astype(int), "target": self._target.astype(int)}

    def _get_info(self):
        return {"distance": float(np.abs(self._agent - self._target).sum())}

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self._agent = self.np_random.integers(0, self.size, size=2, dtype=int)
        self._target = self._agent
        while np.array_equal(self._target, self._agent):
            self._target = self.np_random.integers(0, self.size, size=2, dtype=int)
        return self._get_obs(), self._get_info()

    def step(self, action):
        self._agent = np.clip(self._agent + self._moves[int(action)], 0, self.size - 1)
        over = np.array_equal(self._agent, self._target)
        return self._get_obs(), 1 if over else 0, over, False, self._get_info()

    def render(self):
        if self.render_mode == "ansi":
            return f"{self._agent.tolist()} -> {self._target.tolist()}"
        frame = np.full((self.size, self.size, 3), 255, np.uint8)
        frame[tuple(self._agent)] = (0, 0, 255)
        return frame


gym.register(id="tutorial/GridWorld-v0", entry_point=GridWorld, max_episode_steps=30)
env = gym.make("tutorial/GridWorld-v0", render_mode="ansi")
obs, info = env.reset(seed=42)
print(obs, info, env.render())
env.action_space.seed(1)
for _ in range(60):
    obs, reward, terminated, truncated, info = env.step(env.action_space.sample())
    if terminated or truncated:
        break
print(obs, reward, terminated, truncated, info)
flat = gym.wrappers.FlattenObservation(gym.make("tutorial/GridWorld-v0"))
print(flat.observation_space, flat.reset(seed=42)[0])
from gymnasium.utils.env_checker import check_env

check_env(gym.make("tutorial/GridWorld-v0").unwrapped, skip_render_check=True)
envs = gym.make_vec("tutorial/GridWorld-v0", num_envs=3, size=4)
obs, infos = envs.reset(seed=5)
print({key: value.tolist() for key, value in obs.items()}, infos["distance"].tolist())
obs, rewards, terminations, truncations, infos = envs.step([0, 1, 2])
print(rewards.tolist(), terminations.tolist(), infos["_distance"].tolist(), envs.single_observation_space["agent"])
