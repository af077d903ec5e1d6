import os
import tempfile

import gymnasium as gym
from gymnasium.wrappers import RecordEpisodeStatistics, RecordVideo

folder = tempfile.mkdtemp()
env = gym.make("CartPole-v1", render_mode="rgb_array")
env = RecordVideo(env, video_folder=folder, name_prefix="eval", episode_trigger=lambda n: n % 2 == 0, disable_logger=True)
env = RecordEpisodeStatistics(env, buffer_length=4)
for episode in range(3):
    env.reset(seed=episode)
    over, steps = False, 0
    while not over and steps < 8:
        *_, terminated, truncated, info = env.step(1)
        over, steps = terminated or truncated, steps + 1
env.close()
print(sorted(os.listdir(folder)), env.metadata["render_fps"])
print([os.path.getsize(os.path.join(folder, name)) > 500 for name in sorted(os.listdir(folder))])
