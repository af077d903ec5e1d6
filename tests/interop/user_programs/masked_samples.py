import gymnasium as gym
import numpy as np
from gymnasium.spaces import Dict, Discrete, MultiBinary, MultiDiscrete, OneOf, Sequence, Tuple

d = Discrete(6, seed=1)
print([int(d.sample(mask=np.array([0, 1, 0, 0, 1, 0], dtype=np.int8))) for _ in range(10)])
print([int(d.sample(probability=np.array([0, 0.5, 0, 0, 0.25, 0.25]))) for _ in range(10)])
print(int(Discrete(3, start=5, seed=0).sample(mask=np.zeros(3, dtype=np.int8))))
m = MultiDiscrete([2, 3], seed=1)
print([m.sample(mask=(np.array([0, 1], np.int8), np.array([1, 0, 1], np.int8))).tolist() for _ in range(4)])
b = MultiBinary(3, seed=1)
print([b.sample(mask=np.array([0, 1, 2], np.int8)).tolist() for _ in range(4)])
t = Tuple((Discrete(3), Discrete(4)), seed=1)
print([tuple(map(int, t.sample(mask=(np.array([1, 0, 0], np.int8), None)))) for _ in range(4)])
s = Dict({"a": Discrete(3), "b": Discrete(2)}, seed=1)
print([{k: int(v) for k, v in s.sample(mask={"a": np.array([0, 0, 1], np.int8), "b": None}).items()} for _ in range(3)])
for bad in (np.array([1, 1]), [1, 0, 0, 0, 0, 0], np.array([2, 0, 0, 0, 0, 0], np.int8)):
    try:
        print(d.sample(mask=bad))
    except AssertionError as problem:
        print("refused")
env = gym.make("Taxi-v4")
obs, info = env.reset(seed=3)
env.action_space.seed(3)
print([int(env.action_space.sample(info["action_mask"])) for _ in range(8)])
