import gymnasium as gym
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit

env = RecordEpisodeStatistics(TimeLimit(gym.make("CartPole-v1").unwrapped, 15), buffer_length=3)
for episode in range(5):
    env.reset(seed=episode)
    over = False
    while not over:
        obs, reward, terminated, truncated, info = env.step(episode % 2)
        over = terminated or truncated
    found = info["episode"]
    print(found["r"], found["l"], type(found["r"]).__name__, found["t"] >= 0, truncated)
print(list(env.return_queue), list(env.length_queue), env.episode_count)
