import copy
import json
import pickle

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Tuple

box = Box(low=np.array([-1.0, 0.0]), high=np.array([1.0, np.inf]), dtype=np.float32)
print(box, box.low.tolist(), box.high.tolist(), box.is_bounded(), box.is_bounded("below"))
print(box.shape, box.dtype, np.zeros(2, np.float32) in box, [0.0, 1.0] in box, np.zeros(2) in box)
print(box == pickle.loads(pickle.dumps(box)), box == copy.deepcopy(box), box == Box(-1, 1, (2,)))
print(repr(Discrete(3)), Discrete(3) == Discrete(3, start=1), np.int64(2) in Discrete(3), 2.0 in Discrete(3))
m = MultiDiscrete([3, 2, 4])
print(len(m), m[1], m.nvec.tolist(), m.shape, np.array([2, 1, 3]) in m)
t = Tuple([Discrete(2), Box(0, 1, (1,))])
print(len(t), t[0], [type(s).__name__ for s in t])
d = Dict(b=Discrete(2), a=Discrete(3))
print(d, list(d), d["a"], len(d), d.is_np_flattenable)
d["c"] = Discrete(4)
print(sorted(d.spaces))
print(box.to_jsonable([np.zeros(2, np.float32)]), json.dumps(Discrete(5).to_jsonable([1, 2])))
a, b = Box(0, 1, (3,), seed=5), Box(0, 1, (3,))
b.seed(5)
print(np.array_equal(a.sample(), b.sample()), Discrete(10).seed(3), d.seed(7) is not None)
