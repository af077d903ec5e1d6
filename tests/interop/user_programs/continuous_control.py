import gymnasium as gym
import numpy as np

for name in ("MountainCarContinuous-v0", "LunarLanderContinuous-v3", "BipedalWalker-v3"):
    env = gym.make(name)
    obs, _ = env.reset(seed=6)
    env.action_space.seed(6)
    total = 0.0
    for k in range(30):
        action = env.action_space.sample() * (2 if k % 3 == 0 else 1)
        obs, reward, terminated, truncated, info = env.step(action)
        total += reward
        if terminated or truncated:
            break
    print(name, obs.dtype, np.round(obs[:4], 3).tolist(), round(float(total), 3), terminated)
    print(np.clip(action, env.action_space.low, env.action_space.high).round(3).tolist())
