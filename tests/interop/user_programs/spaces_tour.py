import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Graph, MultiBinary, MultiDiscrete, OneOf, Sequence
from gymnasium.spaces import Text, Tuple, flatdim, flatten, flatten_space, unflatten

space = Dict(
    {
        "position": Box(-1, 1, (3,), dtype=np.float32),
        "gear": Discrete(5, start=-1),
        "lights": MultiBinary(4),
        "menu": Tuple((Discrete(2), MultiDiscrete([3, 4]))),
    },
    seed=13,
)
print(space)
sample = space.sample()
print({key: np.asarray(value).round(4).tolist() if key != "menu" else str(value) for key, value in sample.items()})
print(space.contains(sample), flatdim(space), flatten_space(space))
flat = flatten(space, sample)
back = unflatten(space, flat)
print(flat.dtype, flat.round(3).tolist(), back["gear"] == sample["gear"], list(space.keys()))
for each in (
    Text(6, min_length=2, charset="abc", seed=3),
    Sequence(Discrete(4), seed=3),
    Sequence(Box(0, 1, (2,)), stack=True, seed=3),
    OneOf((Discrete(3), Box(-1, 0, (2,))), seed=3),
    MultiDiscrete([[2, 3], [4, 5]], seed=3),
    Graph(Box(-1, 1, (2,)), Discrete(3), seed=3),
):
    drawn = each.sample()
    print(each, each.contains(drawn), type(drawn).__name__)
    if not isinstance(each, Graph):
        print("  ", np.round(drawn[1], 4).tolist() if isinstance(each, OneOf) else np.round(drawn, 4).tolist() if not isinstance(drawn, str) else drawn)
    else:
        print("  ", drawn.nodes.round(4).tolist(), drawn.edges.tolist(), drawn.edge_links.tolist())
