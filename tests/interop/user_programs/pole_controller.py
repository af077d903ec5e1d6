import gymnasium as gym

env = gym.make("CartPole-v1", max_episode_steps=120)
for seed in range(5):
    obs, _ = env.reset(seed=seed)
    done, steps = False, 0
    while not done:
        x, x_dot, theta, theta_dot = obs
        obs, reward, terminated, truncated, _ = env.step(int(theta + 0.3 * theta_dot > 0))
        done = terminated or truncated
        steps += 1
    print(seed, steps, terminated, truncated, reward, type(terminated).__name__)
