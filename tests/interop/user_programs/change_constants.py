import gymnasium as gym
import numpy as np

for name, changes in {
    "CartPole-v1": {"gravity": 1.62, "length": 1.0, "force_mag": 5.0, "x_threshold": 1.0},
    "Pendulum-v1": {"g": 0.0, "max_torque": 0.5, "max_speed": 1.0, "l": 2.0},
    "MountainCar-v0": {"force": 0.002, "gravity": 0.001, "max_speed": 0.05},
    "MountainCarContinuous-v0": {"power": 0.003, "goal_position": 0.1},
    "Acrobot-v1": {"LINK_MASS_2": 2.0, "torque_noise_max": 0.5, "book_or_nips": "nips"},
    "LunarLander-v3": {"wind_power": 3.0},
}.items():
    env = gym.make(name)
    for attribute, value in changes.items():
        setattr(env.unwrapped, attribute, value)
    env.reset(seed=3)
    env.action_space.seed(3)
    rewards = []
    for _ in range(40):
        obs, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        rewards.append(reward)
        if terminated or truncated:
            env.reset()
    print(name, np.round(obs, 3).tolist(), round(float(sum(rewards)), 2))
