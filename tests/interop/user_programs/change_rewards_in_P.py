import gymnasium as gym

env = gym.make("FrozenLake-v1", is_slippery=False, max_episode_steps=10)
P = env.unwrapped.P
for s in P:
    for a in P[s]:
        for i, (p, n, r, done) in enumerate(P[s][a]):
            if done and r == 0 and n != s:
                P[s][a][i] = (p, n, -1.0, done)
env.reset(seed=0)
print([env.step(a)[:3] for a in (2, 1)])
env.reset()
env.unwrapped.s = 14
obs, reward, *ends, info = env.step(2)
print(obs, float(reward), ends, env.unwrapped.lastaction)
env.unwrapped.P[0][2] = [(1.0, 15, 5.0, True)]
env.reset()
print(env.step(2))
