import gymnasium as gym
import numpy as np

for name, options in {
    "FrozenLake-v1": {"is_slippery": False},
    "CliffWalking-v1": {},
    "Taxi-v4": {},
}.items():
    env = gym.make(name, **options)
    P = env.unwrapped.P
    values = np.zeros(env.observation_space.n)
    policy = np.zeros(env.observation_space.n)  # an array of floats
    for _ in range(60):
        for s in P:
            q = [sum(p * (r + 0.9 * values[n] * (not d)) for p, n, r, d in P[s][a]) for a in P[s]]
            values[s], policy[s] = max(q), np.argmax(np.round(q, 6))
    s, _ = env.reset(seed=5)
    path, total = [int(s)], 0
    for _ in range(25):
        s, r, terminated, truncated, _ = env.step(policy[s])
        path.append(int(s))
        total += r
        if terminated or truncated:
            break
    print(name, path, total, env.unwrapped.lastaction == policy[path[-2]])
    env.reset(seed=5)
    print([env.step(np.float32(1))[0], env.step(2.0)[0]])
    for bad in (1.5, np.nan):
        try:
            env.step(bad)
        except Exception as problem:
            print("refused")
