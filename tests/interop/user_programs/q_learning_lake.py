import gymnasium as gym
import numpy as np

env = gym.make("FrozenLake-v1", is_slippery=True)
rng = np.random.default_rng(0)
Q = np.zeros((env.observation_space.n, env.action_space.n))
env.action_space.seed(0)
state, _ = env.reset(seed=0)
scores = []
for episode in range(800):
    state, _ = env.reset()
    over = False
    while not over:
        if rng.random() < max(0.05, 1 - episode / 400):
            action = env.action_space.sample()
        else:
            action = int(np.argmax(Q[state] + rng.random(4) * 1e-6))
        following, reward, terminated, truncated, _ = env.step(action)
        Q[state, action] += 0.1 * (reward + 0.99 * Q[following].max() * (not terminated) - Q[state, action])
        state, over = following, terminated or truncated
    scores.append(reward)
print(float(np.mean(scores[-100:])), np.round(Q.sum(), 6))
