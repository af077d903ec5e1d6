"""What a described space costs, and descriptions that would fill a host's memory or time."""

from __future__ import annotations

import numpy as np
import pytest

from ludus.spaces import (
    Box,
    Dict,
    Discrete,
    Graph,
    MultiBinary,
    MultiDiscrete,
    OneOf,
    Sequence,
    SpaceValueError,
    Text,
    Tuple,
    batch_space,
    create_empty_array,
    flatten,
    flatten_space,
    from_dict,
    to_dict,
    to_json,
)
from ludus.spaces.cost import SpaceLimits, check_cost, cost_of
from ludus.untrusted.validate.declaration import read_declaration

DISCRETE = {"type": "Discrete", "n": 2, "start": 0, "dtype": "int64"}


def sequence(space, stack=False):
    return {"type": "Sequence", "space": space, "stack": stack}


def graph(nodes, edges=None):
    return {"type": "Graph", "node_space": nodes, "edge_space": edges}


def text(length, charset="ab", shortest=1):
    return {"type": "Text", "max_length": length, "min_length": shortest, "charset": charset}


def several(kind, spaces):
    keys = {"keys": [str(i) for i in range(len(spaces))], "sort_keys": True}
    return {"type": kind, "spaces": spaces, **(keys if kind == "Dict" else {})}


def box(*shape, dtype="float32"):
    return {"type": "Box", "low": 0.0, "high": 1.0, "shape": list(shape), "dtype": dtype}


def nested(make, levels, inner=DISCRETE):
    for _ in range(levels):
        inner = make(inner)
    return inner


ATTACKS = {
    "sequences": (nested(sequence, 12), "parts"),
    "stacked sequences": (nested(lambda space: sequence(space, True), 24), "parts"),
    "sequence of images": (nested(sequence, 2, box(512, 512, 3)), "numbers"),
    "graphs in nodes": (nested(graph, 24), "parts"),
    "graphs in edges": (nested(lambda space: graph(DISCRETE, space), 24), "parts"),
    "graph of images": (graph(box(512, 512, 3), box(512, 512, 3)), "numbers"),
    "text": (text(2**40), "numbers"),
    "text of a NumPy length": (text(np.int64(2**40)), "numbers"),
    "text that is never short": (text(2**40, shortest=2**40), "numbers"),
    "texts": (several("Tuple", [text(2**20)] * 40), "numbers"),
    "sequence of texts": (sequence(text(2**20)), "numbers"),
    "character sets": (several("Tuple", [text(3, "x" * 2**17)] * 9), "characters"),
    "keys": ({**several("Dict", [DISCRETE]), "keys": ["k" * 2**20]}, "characters"),
    "tuple": (several("Tuple", [DISCRETE] * 2**18), "parts"),
    "dict": (several("Dict", [DISCRETE] * 2**18), "parts"),
    "choice of spaces": (several("OneOf", [DISCRETE] * 2**18), "parts"),
    "choices in choices": (nested(lambda space: several("OneOf", [space] * 2), 17), "parts"),
    "discrete": ({**DISCRETE, "n": 2**40}, "flat"),
    "multi discrete": (
        {"type": "MultiDiscrete", "nvec": 2**40, "start": 0, "shape": [3], "dtype": "int64"},
        "flat",
    ),
    "counts as a list": (
        {"type": "MultiDiscrete", "nvec": [2**40], "start": 0, "shape": [1], "dtype": "int64"},
        "flat",
    ),
    "multi binary": ({"type": "MultiBinary", "n": 2**30}, "numbers"),
    "multi binary of axes": ({"type": "MultiBinary", "n": [2**20, 2**20]}, "numbers"),
    "box": (box(2**13, 2**13), "numbers"),
    "box behind an empty axis": (box(0, 2**40), "numbers"),
}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.timeout(60)
def test_declarations_that_cost_too_much(attack):
    described, limit = ATTACKS[attack]
    side = "action_space" if "text" in attack else "observation_space"
    told = {
        "name": "x",
        "num_envs": None,
        "metadata": {},
        "observation_space": DISCRETE,
        "action_space": DISCRETE,
        "spec": {},
        side: described,
    }
    with pytest.raises(ValueError, match=f"{side} costs too much: .*SpaceLimits.{limit}") as caught:
        read_declaration(told, spec=object(), wanted="x", num_envs=None)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "make", [lambda space: sequence(space, True), graph], ids=["stack", "graph"]
)
@pytest.mark.timeout(60)
def test_reading_counts_what_is_built_twice(make):
    with pytest.raises(SpaceValueError, match="more than 131072 spaces"):
        from_dict(nested(make, 24))


@pytest.mark.timeout(60)
def test_reading_counts_bounds_that_are_built_twice():
    with pytest.raises(SpaceValueError, match="more than 33554432 entries"):
        from_dict(nested(graph, 6, box(2**20)))


HONEST = {
    "frames": Box(0, 255, (210, 160, 3), np.uint8),
    "stacked frames": Box(0, 255, (4, 84, 84), np.uint8),
    "large frames": Box(0, 255, (1080, 1920, 3), np.uint8),
    "robot": Dict(position=Box(-np.inf, np.inf, (400,), np.float64), goal=Box(-1, 1, (3,))),
    "board": MultiBinary((19, 19, 17)),
    "moves": Discrete(100_000),
    "factored moves": MultiDiscrete([10_000] * 100),
    "story": Text(100_000),
    "instruction and frames": Dict(say=Text(1_000), see=Box(0, 255, (256, 256, 3), np.uint8)),
    "molecule": Graph(Box(0, 1, (64,)), Discrete(5)),
    "molecules": Sequence(Graph(Box(0, 1, (64,)), Discrete(5))),
    "episode": Sequence(Dict(see=Box(0, 255, (84, 84, 3), np.uint8), do=Discrete(4)), stack=True),
    "paragraphs": Sequence(Sequence(Text(40))),
    "cards": Tuple([Discrete(52)] * 500),
    "either": OneOf([Discrete(3), Box(0, 1, (9,)), Text(20)]),
}


@pytest.mark.parametrize("name", HONEST)
def test_what_environments_have_passes(name):
    check_cost(to_dict(HONEST[name]), SpaceLimits())


@pytest.mark.parametrize(
    ("name", "copies"),
    [("frames", 128), ("stacked frames", 512), ("story", 128), ("robot", 4096), ("cards", 4096)],
)
def test_batches_of_what_environments_have_pass(name, copies):
    check_cost(to_dict(HONEST[name]), SpaceLimits(), copies=copies)


@pytest.mark.parametrize("name", ["frames", "story", "either", "paragraphs"])
def test_batches_are_counted(name):
    with pytest.raises(SpaceValueError, match="of 65536 environments"):
        check_cost(to_dict(HONEST[name]), SpaceLimits(), copies=2**16)


@pytest.mark.parametrize("name", sorted(HONEST))
def test_samples_cost_no_more_than_computed(name):
    space = from_dict(to_dict(HONEST[name]))
    space.seed(1)
    cost = cost_of(to_dict(space), copies=2)
    batch = batch_space(space, 2)
    assert _numbers(batch.sample()) <= cost.numbers
    assert _numbers(create_empty_array(space, 2)) <= cost.numbers
    assert _numbers(flatten(space, space.sample())) <= cost_of(to_dict(space)).flat
    assert flatten_space(space) is not None


def _numbers(value):
    if value is None:
        return 0
    if isinstance(value, dict):
        return sum(map(_numbers, value.values()))
    if isinstance(value, tuple):
        return sum(map(_numbers, value))
    return len(value) if isinstance(value, str) else np.asarray(value).size


def test_limits_are_checked():
    with pytest.raises(ValueError, match="SpaceLimits.flat is 0"):
        SpaceLimits(flat=0)


def test_large_uniform_bounds_are_written_without_listing_them():
    space = Box(-0.0, np.inf, (2**12, 2**12), np.float32)
    assert len(to_json(space)) < 100
    mixed = Box(np.array([-0.0, 0.0]), 1.0, dtype=np.float64)
    assert from_dict(to_dict(mixed)).low.tobytes() == mixed.low.tobytes()
