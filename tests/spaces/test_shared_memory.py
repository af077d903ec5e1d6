from __future__ import annotations

import multiprocessing

import numpy as np
import pytest

from ludus.errors import CustomSpaceError
from ludus.spaces import (
    Box,
    Dict,
    Discrete,
    Graph,
    MemoryLayout,
    MultiBinary,
    MultiDiscrete,
    OneOf,
    Sequence,
    SpaceTypeError,
    SpaceValueError,
    Text,
    Tuple,
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)
from ludus.spaces.layout import ALIGNMENT, Leaf, storage
from tests.spaces.custom import Angle

SPACES = [
    *(Box(0, 1, (2, 2), dtype) for dtype in ("f2", "f4", "f8", "i1", "i8", "u2", "?")),
    Box(0, 1, ()),
    Discrete(3),
    MultiBinary((2, 3)),
    MultiDiscrete([3, 4]),
    Text(5, charset="abc"),
    Tuple([Discrete(2), Box(0, 1, (3,)), Text(2)]),
    Dict(a=Discrete(2), b=Dict(c=Box(0, 1, (3,)), d=MultiBinary(1))),
    OneOf([Discrete(2), Box(0, 1, (2,))]),
    OneOf([Dict(a=Discrete(2)), Tuple([Text(2), Discrete(3)])]),
]


def _memories(space, n):
    layout = MemoryLayout.of(space, n)
    yield create_shared_memory(space, n, ctx=multiprocessing.get_context("spawn"))
    yield layout.views(bytearray(layout.nbytes))


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_values_go_in_and_come_out(space):
    space.seed(1)
    values = [space.sample() for _ in range(3)]
    for memory in _memories(space, 3):
        for index, value in enumerate(values):
            write_to_shared_memory(space, index, value, memory)
        batch = read_from_shared_memory(space, memory, 3)
        if isinstance(space, (OneOf, Text)):
            rows = list(batch)
        elif isinstance(space, Dict):
            rows = [
                {"a": batch["a"][i], "b": {k: v[i] for k, v in batch["b"].items()}}
                for i in range(3)
            ]
        elif isinstance(space, Tuple):
            rows = list(zip(*batch, strict=True))
        else:
            rows = [np.asarray(row, space.dtype) for row in batch]
        assert space.to_jsonable(rows) == space.to_jsonable(values)


def test_arrays_are_no_copies():
    space = Dict(a=Box(0, 9, (2,)))
    for memory in _memories(space, 2):
        batch = read_from_shared_memory(space, memory, 2)
        write_to_shared_memory(space, 1, {"a": [3, 4]}, memory)
        assert batch["a"].tolist() == [[0, 0], [3, 4]]


@pytest.mark.parametrize(
    ("space", "error"),
    [
        (Graph(Discrete(2), None), SpaceTypeError),
        (Sequence(Discrete(2)), SpaceTypeError),
        (Tuple([Sequence(Discrete(2))]), SpaceTypeError),
        (Angle(), CustomSpaceError),
        ("space", SpaceTypeError),
    ],
)
def test_no_room_for_these(space, error):
    with pytest.raises(error):
        create_shared_memory(space)


@pytest.mark.parametrize("space", [Angle(), "space"])
def test_reading_and_writing_the_unknown(space):
    with pytest.raises((CustomSpaceError, SpaceTypeError), match="read_from_shared_memory"):
        read_from_shared_memory(space, None)
    with pytest.raises((CustomSpaceError, SpaceTypeError), match="write_to_shared_memory"):
        write_to_shared_memory(space, 0, None, None)


def test_registration_of_a_custom_space():
    class Degrees(Angle):
        pass

    create_shared_memory.register(
        Degrees, lambda space, n=1, ctx=multiprocessing: ctx.Array("h", n)
    )
    read_from_shared_memory.register(Degrees, lambda space, memory, n=1: list(memory))
    write_to_shared_memory.register(
        Degrees, lambda space, index, value, memory: memory.__setitem__(index, value)
    )
    space = Tuple([Degrees()])
    memory = create_shared_memory(space, 2)
    write_to_shared_memory(space, 1, (90,), memory)
    assert read_from_shared_memory(space, memory, 2) == ([0, 90],)
    storage.register(Degrees, lambda space: Leaf(0, np.dtype(np.int16), ()))
    assert MemoryLayout.of(space, 2).tree == (Leaf(0, np.dtype(np.int16), ()),)


@pytest.mark.parametrize("space", SPACES, ids=str)
@pytest.mark.parametrize("n", [1, 5])
def test_layout_is_aligned_and_without_overlap(space, n):
    layout = MemoryLayout.of(space, n)
    assert layout == MemoryLayout.of(space, n)
    leaves = []

    def collect(tree):
        if isinstance(tree, Leaf):
            leaves.append(tree)
        else:
            for part in tree.values() if isinstance(tree, dict) else tree:
                collect(part)

    collect(layout.tree)
    end = 0
    for leaf in leaves:
        assert leaf.offset % ALIGNMENT == 0
        assert leaf.offset >= end
        end = leaf.offset + n * leaf.dtype.itemsize * int(np.prod(leaf.shape))
    assert end <= layout.nbytes < end + ALIGNMENT


def test_views_share_the_buffer():
    layout = MemoryLayout.of(Dict(a=Box(0, 1, (2,)), b=Discrete(3), t=Text(4)), 3)
    buffer = bytearray(layout.nbytes)
    views, again = layout.views(buffer), layout.views(memoryview(buffer))
    assert {key: view.shape for key, view in views.items()} == {"a": (3, 2), "b": (3,), "t": (3, 4)}
    assert views["t"].dtype == np.int32
    views["a"][1] = [5, 6]
    assert again["a"][1].tolist() == [5, 6]
    assert views["a"].flags.writeable
    layout.views(np.zeros(layout.nbytes + 100, np.uint8))


def test_layout_of_nothing_can_be_allocated():
    layout = MemoryLayout.of(Tuple([Box(0, 1, (0,))]), 2)
    assert layout.nbytes == ALIGNMENT
    assert layout.views(bytearray(layout.nbytes))[0].shape == (2, 0)


@pytest.mark.parametrize(
    ("buffer", "words"), [(bytes(64), "read-only"), (bytearray(63), "63 bytes, needed are 64")]
)
def test_bad_buffers(buffer, words):
    with pytest.raises(SpaceValueError, match=words):
        MemoryLayout.of(Discrete(2)).views(buffer)


@pytest.mark.parametrize(
    "space", [Graph(Discrete(2), None), Sequence(Discrete(2)), Dict(a=Angle()), Angle()], ids=str
)
def test_spaces_without_layout(space):
    with pytest.raises(CustomSpaceError):
        MemoryLayout.of(space, 2)


def test_layout_needs_at_least_one():
    with pytest.raises(SpaceValueError, match="got 0"):
        MemoryLayout.of(Discrete(2), 0)
    with pytest.raises(SpaceTypeError, match="str"):
        MemoryLayout.of("space")
