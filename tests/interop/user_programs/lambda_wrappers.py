import gymnasium as gym
import numpy as np
from gymnasium.wrappers import ClipAction, FlattenObservation, FrameStackObservation, RescaleAction
from gymnasium.wrappers import RescaleObservation, TimeAwareObservation, TransformAction
from gymnasium.wrappers import TransformObservation, TransformReward, DtypeObservation

env = gym.make("MountainCarContinuous-v0")
env = RescaleAction(env, min_action=-2, max_action=2)
print(ClipAction(env).action_space)
env = TransformObservation(env, lambda o: o * 10, gym.spaces.Box(-12, 12, (2,), np.float32))
env = TransformReward(env, lambda r: r + 1)
env = FlattenObservation(FrameStackObservation(env, 3))
obs, _ = env.reset(seed=9)
print(env.observation_space.shape, obs.round(4).tolist(), env.action_space)
for force in ([2.0], [-1.0], [0.5]):
    obs, reward, *_ = env.step(np.array(force, dtype=np.float32))
print(obs.round(4).tolist(), round(float(reward), 5))
env = DtypeObservation(TimeAwareObservation(gym.make("CartPole-v1"), flatten=True), np.float64)
obs, _ = env.reset(seed=9)
obs, *_ = env.step(1)
print(obs.dtype, obs.round(4).tolist())
env = RescaleObservation(gym.make("MountainCar-v0"), np.array([0, 0]), np.array([1, 1]))
print(env.reset(seed=0)[0].round(4).tolist(), env.observation_space)
env = TransformAction(gym.make("CartPole-v1"), lambda a: 1 - a, gym.spaces.Discrete(2))
env.reset(seed=0)
print(env.step(0)[0].round(4).tolist())
