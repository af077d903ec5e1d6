import gymnasium as gym
import numpy as np

env = gym.make("FrozenLake-v1", map_name="8x8")
P = env.unwrapped.P
V = np.zeros(env.observation_space.n)
for sweep in range(1000):
    before = V.copy()
    for s in P:
        V[s] = max(sum(p * (r + 0.99 * V[n]) for p, n, r, d in P[s][a]) for a in P[s])
    if np.abs(V - before).max() < 1e-8:
        break
policy = [
    int(np.argmax([round(sum(p * (r + 0.99 * V[n]) for p, n, r, d in P[s][a]), 9) for a in P[s]]))
    for s in P
]
print(sweep, V.round(4).tolist())
print(policy)
wins = 0
for seed in range(50):
    s, _ = env.reset(seed=seed)
    over = False
    while not over:
        s, r, terminated, truncated, info = env.step(policy[s])
        over = terminated or truncated
    wins += r
print(wins, round(info["prob"], 4))
