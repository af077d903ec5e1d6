import gymnasium as gym
import numpy as np


class Walk(gym.Env):
    observation_space = gym.spaces.Dict({"x": gym.spaces.Box(-9, 9, (1,), np.float32), "n": gym.spaces.Discrete(20)})
    action_space = gym.spaces.Discrete(3)

    def __init__(self, start=0):
        self.start, self.label = start, f"walk{start}"

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.n = float(self.start) + float(self.np_random.random()), 0
        return self._obs(), {"label": self.label}

    def _obs(self):
        return {"x": np.array([self.x], np.float32), "n": self.n}

    def step(self, action):
        self.x += float(action) - 1.0
        self.n += 1
        return self._obs(), self.x, self.n >= 4, False, {"n": self.n}

    def double(self, number):
        return number * 2 + self.start


if __name__ == "__main__":
    envs = gym.vector.AsyncVectorEnv([lambda s=s: Walk(s) for s in range(3)])
    obs, infos = envs.reset(seed=10)
    print({k: v.round(4).tolist() for k, v in obs.items()}, infos["label"].tolist())
    for step in range(6):
        obs, rewards, terminations, truncations, infos = envs.step(np.array([0, 1, 2]))
        print({k: v.round(4).tolist() for k, v in obs.items()}, rewards.round(4).tolist(), terminations.tolist(), sorted(infos))
    print(envs.call("double", 5), envs.get_attr("label"))
    envs.set_attr("label", ["a", "b", "c"])
    print(envs.get_attr("label"))
    envs.step_async(np.array([1, 1, 1]))
    print(envs.step_wait()[1].round(4).tolist())
    envs.close()
