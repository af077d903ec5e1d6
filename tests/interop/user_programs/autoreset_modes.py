import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED):
    envs = gym.make_vec(
        "MountainCar-v0",
        num_envs=2,
        max_episode_steps=3,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": mode},
    )
    obs, _ = envs.reset(seed=3)
    print(mode, envs.metadata["autoreset_mode"])
    for step in range(5):
        obs, rewards, terminations, truncations, infos = envs.step(np.array([0, 2]))
        print(obs.round(5).tolist(), rewards.tolist(), truncations.tolist(), sorted(infos))
        if "final_obs" in infos:
            print("  final", [o.round(5).tolist() for o in infos["final_obs"]], infos["_final_obs"].tolist())
        if mode == AutoresetMode.DISABLED and truncations.any():
            obs, _ = envs.reset(options={"reset_mask": terminations | truncations})
            print("  reset", obs.round(5).tolist())
