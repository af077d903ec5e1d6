import copy
import pickle

import gymnasium as gym
import numpy as np

env = gym.make("CartPole-v1")
env.reset(seed=0)
env.step(1)
twin = copy.deepcopy(env)
print(np.array_equal(env.step(0)[0], twin.step(0)[0]))
twin.step(1)
print(np.array_equal(env.unwrapped.state, twin.unwrapped.state), env.unwrapped is twin.unwrapped)
other = pickle.loads(pickle.dumps(gym.make("Pendulum-v1", g=3.0)))
print(other.unwrapped.g, other.reset(seed=2)[0].round(5).tolist())
spec = pickle.loads(pickle.dumps(gym.spec("CartPole-v1")))
print(spec.id, gym.make(spec).spec.id, gym.spec("CartPole-v1") == spec)
text = gym.spec("FrozenLake-v1").to_json()
print(gym.envs.registration.EnvSpec.from_json(text).kwargs, copy.deepcopy(gym.make("FrozenLake-v1")).unwrapped.nrow)
