from __future__ import annotations

import numpy as np
import pytest

from ludus.errors import CustomSpaceError
from ludus.spaces import (
    Box,
    Dict,
    Discrete,
    Graph,
    MultiBinary,
    MultiDiscrete,
    OneOf,
    Sequence,
    Space,
    SpaceTypeError,
    SpaceValueError,
    Text,
    Tuple,
    batch_differing_spaces,
    batch_space,
    concatenate,
    create_empty_array,
    iterate,
)
from tests.spaces.custom import Angle

BATCHES = [
    (Box(0, 1, (3,)), Box(0, 1, (2, 3))),
    (Box(0, 255, (), "u1"), Box(0, 255, (2,), "u1")),
    (Discrete(3, start=1, dtype="i4"), MultiDiscrete([3, 3], start=[1, 1], dtype="i4")),
    (MultiBinary((2, 2)), Box(0, 1, (2, 2, 2), "i1")),
    (
        MultiDiscrete([2, 3], start=[0, 4]),
        Box(np.array([[0, 4]] * 2), np.array([[1, 6]] * 2), dtype="i8"),
    ),
    (Tuple([Discrete(2), Box(0, 1)]), Tuple([MultiDiscrete([2, 2]), Box(0, 1, (2, 1))])),
    (
        Dict(a=Discrete(2), b=MultiBinary(1)),
        Dict(a=MultiDiscrete([2, 2]), b=Box(0, 1, (2, 1), "i1")),
    ),
    (Text(3), Tuple([Text(3)] * 2)),
    (Sequence(Discrete(2)), Tuple([Sequence(Discrete(2))] * 2)),
    (Graph(Discrete(2), None), Tuple([Graph(Discrete(2), None)] * 2)),
    (OneOf([Discrete(2)]), Tuple([OneOf([Discrete(2)])] * 2)),
    (Angle(), Tuple([Angle()] * 2)),
]
IDS = [repr(space)[:20] for space, _ in BATCHES]


@pytest.mark.parametrize(("space", "batch"), BATCHES, ids=IDS)
def test_batch_space(space, batch):
    assert batch_space(space, 2) == batch
    assert batch_space(space, n=2).sample() in batch


@pytest.mark.parametrize(("space", "batch"), BATCHES[:-1], ids=IDS[:-1])
def test_values_go_in_and_come_out(space, batch):
    space.seed(1)
    values = [space.sample() for _ in range(2)]
    joined = concatenate(space, iter(values), create_empty_array(space, 2))
    assert joined in batch
    for value, restored in zip(values, iterate(batch, joined), strict=True):
        assert repr(value) == repr(restored) or np.all(value == restored)


@pytest.mark.parametrize(("space", "batch"), BATCHES, ids=IDS)
def test_batch_has_its_own_generator(space, batch):
    space.seed(5)
    before = space.np_random.bit_generator.state
    batched = batch_space(space, 2)
    batched.sample()
    assert space.np_random.bit_generator.state == before


def test_copies_in_a_batch_draw_differently():
    first, second = batch_space(Text(30, min_length=30, seed=1), 2).sample()
    assert first != second


def test_dict_keeps_its_order():
    space = Dict({"b": Discrete(2), "a": Discrete(2)}, sort_keys=False)
    assert list(batch_space(space, 2)) == list(batch_differing_spaces([space, space])) == ["b", "a"]


def test_concatenate_fills_the_given_room():
    room = np.zeros((2, 3), np.float32)
    assert concatenate(Box(0, 1, (3,)), [np.ones(3, "f")] * 2, room) is room
    assert room.all()
    room = np.zeros(2, np.int64)
    assert concatenate(Discrete(5), (3, np.int64(4)), room) is room
    assert room.tolist() == [3, 4]


def test_concatenate_fills_room_that_is_not_contiguous():
    room = np.zeros((2, 6), np.float32)[:, ::2]
    concatenate(Box(0, 1, (3,)), [np.ones(3, "f")] * 2, room)
    assert room.all()


def test_concatenate_without_room():
    assert concatenate(Box(0, 1, (3,)), [np.ones(3, "f")] * 2, None).shape == (2, 3)
    assert concatenate(Discrete(3), [1, 2], None).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("space", "items", "room", "error"),
    [
        (Box(0, 1, (2,)), [np.zeros(1), np.zeros(3)], np.zeros((2, 2)), ValueError),
        (Box(0, 1, (2,)), [np.zeros(2)], np.zeros((2, 2)), ValueError),
        (Box(0, 1, (2,), "i1"), [np.zeros(2)], np.zeros((1, 2), "i1"), TypeError),
        (Discrete(2), [0.5], np.zeros(1, int), TypeError),
        (Discrete(2), [0, 1], np.zeros(1, int), ValueError),
        ("space", [], None, SpaceTypeError),
    ],
)
def test_concatenate_refuses_what_does_not_fit(space, items, room, error):
    with pytest.raises(error):
        concatenate(space, items, room)


def test_empty_arrays():
    assert create_empty_array(Box(0, 1, (3,)), 2).shape == (2, 3)
    assert create_empty_array(Discrete(3)).shape == (1,)
    assert create_empty_array(Text(3, min_length=2, charset="ba"), 2) == ("aa", "aa")
    assert create_empty_array(Sequence(Discrete(2)), 2) == ((), ())
    assert create_empty_array(Sequence(Discrete(2), stack=True), 1)[0].shape == (1,)
    assert create_empty_array(OneOf([Discrete(2)]), 2) == ((), ())
    assert create_empty_array(Graph(Discrete(2), None))[0].edges is None
    assert create_empty_array(Graph(Discrete(2), Discrete(2)))[0].edge_links.shape == (1, 2)
    assert create_empty_array(Angle(), 2) is None
    ones = create_empty_array(Dict(a=Box(0, 1)), 2, fn=np.ones)
    assert ones["a"].tolist() == [[1], [1]]


def test_iterate_over_an_empty_dict():
    assert list(iterate(Dict(), {})) == []


@pytest.mark.parametrize("function", [batch_space, create_empty_array])
def test_what_is_no_space(function):
    with pytest.raises(SpaceTypeError, match="'space'.*str"):
        function("space")


def test_custom_space_cannot_be_iterated_over():
    with pytest.raises(CustomSpaceError, match=r"iterate\.register\(Angle\)"):
        iterate(Angle(), ())
    assert list(iterate(Tuple([Angle()] * 2), (1, 2))) == [1, 2]
    with pytest.raises(CustomSpaceError, match="Angle"):
        iterate(Tuple([Angle()] * 2), 1)


def test_registration_of_a_custom_space():
    class Degrees(Angle):
        pass

    batch_space.register(Degrees, lambda space, n=1: Box(0, 359, (n,), np.int16))
    create_empty_array.register(Degrees, lambda space, n=1, fn=np.zeros: fn(n, dtype=np.int16))
    concatenate.register(Degrees, lambda space, items, out: np.stack(list(items), out=out))
    iterate.register(Degrees, lambda space, items: iter(items.tolist()))
    batch_differing_spaces.register(Degrees, lambda spaces: batch_space(spaces[0], len(spaces)))
    space = Dict(heading=Degrees(), mode=Discrete(2))
    assert batch_space(space, 3)["heading"] == Box(0, 359, (3,), np.int16)
    assert batch_differing_spaces([space, space])["heading"] == Box(0, 359, (2,), np.int16)
    room = create_empty_array(space, 2)
    joined = concatenate(space, [{"heading": np.int16(5), "mode": 1}] * 2, room)
    assert joined["heading"].tolist() == [5, 5]
    assert list(iterate(Tuple([Degrees()]), (np.array([1, 2]),))) == [(1,), (2,)]


DIFFERING = [
    ([Box(0, 1), Box(0, 2)], Box(np.zeros((2, 1), "f"), np.array([[1], [2]], "f"))),
    ([Discrete(2), Discrete(3, start=4)], MultiDiscrete([2, 3], start=[0, 4])),
    ([Discrete(2, dtype="i1"), Discrete(3, dtype="i4")], MultiDiscrete([2, 3], dtype="i4")),
    ([Discrete(2, start=-5, dtype="i1"), Discrete(2, start=200, dtype="u1")],
     MultiDiscrete([2, 2], start=[-5, 200], dtype="i2")),
    ([MultiBinary(2), MultiBinary(2)], Box(0, 1, (2, 2), "i1")),
    ([MultiDiscrete([2]), MultiDiscrete([4])], Box(0, np.array([[1], [3]]), (2, 1), "i8")),
    ([Text(1), Text(2)], Tuple([Text(1), Text(2)])),
    ([Dict(a=Discrete(2)), Dict(a=Discrete(3))], Dict(a=MultiDiscrete([2, 3]))),
    ([Tuple([Discrete(2)]), Tuple([Discrete(3)])], Tuple([MultiDiscrete([2, 3])])),
]  # fmt: skip


@pytest.mark.parametrize(("spaces", "batch"), DIFFERING, ids=[str(s) for s, _ in DIFFERING])
def test_batch_differing_spaces(spaces, batch):
    assert batch_differing_spaces(spaces) == batch


@pytest.mark.parametrize(
    ("spaces", "error", "words"),
    [
        ([], SpaceValueError, "empty"),
        ([Discrete(2), Box(0, 1)], SpaceTypeError, "same type"),
        ([Space()], SpaceTypeError, "registered"),
        ([Box(0, 1), Box(0, 1, (2,))], SpaceValueError, "shapes"),
        ([Box(0, 1), Box(0, 1, dtype="f8")], SpaceValueError, "dtypes"),
        ([Discrete(2), Discrete(2, dtype="u8")], SpaceValueError, "common integer dtype"),
        ([MultiBinary(2), MultiBinary(3)], SpaceValueError, "shapes"),
        ([MultiDiscrete([2]), MultiDiscrete([2, 2])], SpaceValueError, "shapes"),
        ([MultiDiscrete([2]), MultiDiscrete([2], dtype="i1")], SpaceValueError, "dtypes"),
        ([Tuple([]), Tuple([Discrete(2)])], SpaceValueError, "lengths"),
        ([Dict(a=Discrete(2)), Dict(b=Discrete(2))], SpaceValueError, "keys"),
    ],
)
def test_spaces_that_do_not_fit_together(spaces, error, words):
    with pytest.raises(error, match=words):
        batch_differing_spaces(spaces)
