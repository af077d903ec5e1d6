import gymnasium as gym
import numpy as np

env = gym.make("CliffWalking-v1", render_mode="ansi")
rng = np.random.default_rng(2)
Q = np.zeros((48, 4))
choose = lambda s: int(rng.integers(4)) if rng.random() < 0.1 else int(np.argmax(Q[s]))
for episode in range(150):
    s, info = env.reset(seed=episode)
    a, over, total = choose(s), False, 0
    while not over:
        t, r, terminated, truncated, info = env.step(a)
        b = choose(t)
        Q[s, a] += 0.5 * (r + Q[t, b] * (not terminated) - Q[s, a])
        s, a, over, total = t, b, terminated or truncated, total + r
print(s, float(total), info, np.round(Q[36], 4).tolist())
print(env.render())
