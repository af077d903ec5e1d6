import gymnasium as gym

env = gym.make("CartPole-v1")
observation, info = env.reset(seed=42)
env.action_space.seed(42)
total, lengths, length = 0.0, [], 0
for _ in range(300):
    action = env.action_space.sample()
    observation, reward, terminated, truncated, info = env.step(action)
    total += reward
    length += 1
    if terminated or truncated:
        lengths.append(length)
        length = 0
        observation, info = env.reset()
print(total, lengths)
print(observation.round(4).tolist(), observation.dtype, info)
print(env.observation_space, env.action_space)
print(env.spec.id, env.spec.max_episode_steps, env.spec.reward_threshold)
env.close()
