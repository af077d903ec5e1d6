from collections import defaultdict

import gymnasium as gym
import numpy as np

env = gym.make("Blackjack-v1", sab=True)
env = gym.wrappers.RecordEpisodeStatistics(env, buffer_length=2000)
rng = np.random.default_rng(1)
Q = defaultdict(lambda: np.zeros(env.action_space.n))
obs, _ = env.reset(seed=1)
for episode in range(2000):
    obs, info = env.reset()
    over = False
    while not over:
        action = int(rng.integers(2)) if rng.random() < 0.2 else int(np.argmax(Q[obs]))
        after, reward, terminated, truncated, info = env.step(action)
        Q[obs][action] += 0.05 * (reward + 0.95 * (not terminated) * Q[after].max() - Q[obs][action])
        obs, over = after, terminated or truncated
print(sorted(Q)[:5], len(Q), [type(part).__name__ for part in obs])
print(round(float(np.mean(env.return_queue)), 6), float(np.sum(env.length_queue)))
print(info["episode"]["r"], info["episode"]["l"], sorted(info["episode"]))
