import gymnasium as gym

env = gym.make("MountainCar-v0")
for seed in (0, 1, 2):
    obs, _ = env.reset(seed=seed)
    steps, over = 0, False
    while not over:
        position, velocity = env.unwrapped.state
        obs, reward, terminated, truncated, _ = env.step(2 if velocity >= 0 else 0)
        steps += 1
        over = terminated or truncated
    print(seed, steps, terminated, obs.round(4).tolist(), reward)
env.reset(seed=0, options={"low": -0.5, "high": -0.45})
print(-0.5 <= env.unwrapped.state[0] <= -0.45, float(env.unwrapped.state[1]))
