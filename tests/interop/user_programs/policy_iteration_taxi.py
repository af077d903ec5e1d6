import gymnasium as gym
import numpy as np

env = gym.make("Taxi-v3" if "Taxi-v4" not in gym.registry else "Taxi-v4")
P, n, m = env.unwrapped.P, env.observation_space.n, env.action_space.n
V, policy = np.zeros(n), np.zeros(n, dtype=int)
for _ in range(60):
    for _ in range(5):
        for s in range(n):
            V[s] = sum(p * (r + 0.9 * V[t] * (not d)) for p, t, r, d in P[s][policy[s]])
    values = [
        [sum(p * (r + 0.9 * V[t] * (not d)) for p, t, r, d in P[s][a]) for a in range(m)]
        for s in range(n)
    ]
    policy = np.argmax(np.round(values, 6), axis=1)
returns = []
for seed in range(10):
    s, info = env.reset(seed=seed)
    total, over = 0, False
    while not over:
        s, r, terminated, truncated, info = env.step(int(policy[s]))
        total += r
        over = terminated or truncated
    returns.append(float(total))
print(returns, V.round(3)[:10].tolist())
print(info["action_mask"].tolist(), info["action_mask"].dtype, list(env.unwrapped.decode(s)))
