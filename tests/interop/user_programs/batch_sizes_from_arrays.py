import gymnasium as gym
import numpy as np

config = np.array([2, 3])
for count in config:
    for mode in ("sync", None):
        envs = gym.make_vec("MountainCar-v0", num_envs=count, vectorization_mode=mode)
        obs, _ = envs.reset(seed=5)
        print(int(envs.num_envs), obs.round(5).tolist(), int(envs.spec.kwargs["num_envs"]))
        obs, rewards, *_ = envs.step(np.full(count, 2))
        print(obs.round(5).tolist(), rewards.tolist(), envs.action_space)
        envs.close()
for count in (0, -1, 2.5, "3"):
    try:
        gym.make_vec("MountainCar-v0", num_envs=count, vectorization_mode="sync")
    except Exception:
        print(count, "is no number of environments")
