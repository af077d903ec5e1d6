import gymnasium as gym
import numpy as np

env = gym.make("CartPole-v1").unwrapped
print(env.state)
env.reset(seed=1)
print(type(env.state).__name__, env.state.dtype, env.state.shape)
start = env.state.copy()
env.state[0] = 0.3
env.state += 0.01
print(np.round(env.state - start, 6).tolist())
obs, *_ = env.step(1)
print(obs.round(5).tolist())
env.state = np.array([2.39, 3.0, 0.0, 0.0])
obs, reward, terminated, *_ = env.step(1)
print(obs.round(5).tolist(), reward, terminated)
env.reset(seed=2)
env.state = (0.0, 0.1, 0.02, -0.1)
print(np.round(env.step(0)[0], 5).tolist())
env.state = [0.0, 0.1, 0.02, -0.1]
env.state[2] = 0.5
print(env.step(0)[2])
