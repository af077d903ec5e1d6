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
    Space,
    SpaceTypeError,
    SpaceValueError,
    Text,
    Tuple,
    flatdim,
    flatten,
    flatten_space,
    is_space_dtype_shape_equiv,
    unflatten,
)
from tests.spaces.custom import Angle

FLAT = [
    (Box(0, 1, (2, 2)), np.eye(2, dtype="f"), [1, 0, 0, 1]),
    (MultiBinary((2, 1)), np.array([[0], [1]], "i1"), [0, 1]),
    (Discrete(3, start=5), 6, [0, 1, 0]),
    (MultiDiscrete([2, 3], start=[1, 0]), np.array([2, 0]), [0, 1, 1, 0, 0]),
    (Text(4, charset="ba"), "ab", [1, 0, 2, 2]),
    (Tuple([Discrete(2), Box(-1, 1, (1,))]), (1, np.array([-0.5], "f")), [0, 1, -0.5]),
    (Dict(b=Discrete(2), a=MultiBinary(1)), {"a": np.array([1], "i1"), "b": 0}, [1, 0, 1]),
    (
        Dict(t=Text(2, charset="ab"), x=Box(0, 1, (1,))),
        {"t": "b", "x": np.array([0.5], "f")},
        [1, 2, 0.5],
    ),
    (OneOf([Discrete(2), Box(3, 4, (3,))]), (0, 1), [0, 0, 1, 0]),
    (OneOf([Discrete(2), Box(3, 4, (3,))]), (1, np.array([3, 4, 3], "f")), [1, 3, 4, 3]),
]


@pytest.mark.parametrize(("space", "value", "vector"), FLAT, ids=[str(case[0]) for case in FLAT])
def test_flatten_and_back(space, value, vector):
    flat = flatten(space, value)
    assert flat.tolist() == vector
    assert flatdim(space) == len(vector)
    box = flatten_space(space)
    assert isinstance(box, Box)
    assert box.shape == (len(vector),)
    assert flat in box
    restored = unflatten(space, flat)
    assert restored in space
    assert str(space.to_jsonable([restored])) == str(space.to_jsonable([value]))


def test_flat_array_is_a_copy():
    value = np.zeros(3, np.float32)
    flatten(Box(0, 1, (3,)), value)[0] = 1
    assert not value.any()


def test_index_of_many_spaces_fits_the_dtype():
    space = OneOf([Discrete(2, dtype="i1")] * 200)
    assert flatten(space, (199, 1))[0] == 199
    assert flatten_space(space).dtype == np.int16
    assert flatten_space(OneOf([Box(0, 1, dtype=bool)] * 3)).dtype == np.uint8
    assert flatten_space(OneOf([Box(0, 1, dtype=bool)] * 2)).dtype == bool


STRUCTURED = [
    Sequence(Discrete(3)),
    Sequence(Box(0, 1, (2, 2)), stack=True),
    Graph(Box(0, 1, (2, 2)), Discrete(3)),
    Graph(Dict(a=Discrete(2)), None),
    Tuple([Sequence(Discrete(3)), Discrete(2)]),
    Dict(a=Graph(Discrete(2), None), b=Box(0, 1, (2, 2))),
]


@pytest.mark.parametrize("space", STRUCTURED, ids=str)
def test_what_has_no_fixed_size_keeps_its_structure(space):
    space.seed(1)
    value = space.sample()
    flat = flatten(space, value)
    assert flat in flatten_space(space)
    assert space.to_jsonable([unflatten(space, flat)]) == space.to_jsonable([value])
    with pytest.raises(SpaceValueError, match="cannot be flattened"):
        flatdim(space)


@pytest.mark.parametrize(
    ("space", "flat", "error", "words"),
    [
        (Discrete(3), np.zeros(3), SpaceValueError, "one-hot"),
        (MultiDiscrete([2, 2]), np.zeros(4), SpaceValueError, "one-hot"),
        (MultiDiscrete([2, 2]), np.ones(4), SpaceValueError, "one-hot"),
        (Tuple([Discrete(2)]), (1,), SpaceTypeError, "numpy array"),
        (Dict(a=Discrete(2)), {"a": 1}, SpaceTypeError, "numpy array"),
        (Tuple([Sequence(Discrete(2))]), np.ones(2), SpaceTypeError, "tuple"),
        (Dict(a=Sequence(Discrete(2))), np.ones(2), SpaceTypeError, "dict"),
    ],
)
def test_bad_vectors(space, flat, error, words):
    with pytest.raises(error, match=words):
        unflatten(space, flat)


@pytest.mark.parametrize("function", [flatten, unflatten, flatten_space, flatdim])
def test_custom_space_is_unknown(function):
    args = (1,) if function in (flatten, unflatten) else ()
    with pytest.raises(NotImplementedError, match=rf"Unknown space.*{function.__name__}\.register"):
        function(Angle(), *args)


def test_registration_of_a_custom_space():
    class Degrees(Angle):
        pass

    flatdim.register(Degrees, lambda space: 2)
    flatten.register(Degrees, lambda space, x: [np.cos(np.deg2rad(x)), np.sin(np.deg2rad(x))])
    unflatten.register(Degrees, lambda space, x: round(np.rad2deg(np.arctan2(x[1], x[0]))))
    flatten_space.register(Degrees, lambda space: Box(-1, 1, (2,), np.float64))
    space = Tuple([Discrete(2), Degrees()])
    flat = flatten(space, (1, 90))
    assert flat in flatten_space(space)
    assert unflatten(space, flat) == (1, 90)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (Box(0, 1), Box(-5, 5), True),
        (Box(0, 1), Box(0, 1, dtype="f8"), False),
        (Box(0, 1), Box(0, 1, (2,)), False),
        (Box(0, 1, (), "i8"), Discrete(2), False),
        (Discrete(2), Discrete(5, start=3), True),
        (Text(2), Text(2, min_length=0), True),
        (Text(2), Text(3), False),
        (Dict(a=Discrete(2)), Dict(a=Discrete(3)), True),
        (Dict(a=Discrete(2)), Dict(b=Discrete(2)), False),
        (Tuple([Discrete(2)]), Tuple([Discrete(3)]), True),
        (Tuple([Discrete(2)]), OneOf([Discrete(2)]), False),
        (OneOf([Discrete(2)]), OneOf([Discrete(3)]), True),
        (OneOf([Discrete(2)]), OneOf([Discrete(3)] * 2), False),
        (Graph(Discrete(2), None), Graph(Discrete(3), None), True),
        (Graph(Discrete(2), None), Graph(Discrete(2), Discrete(2)), False),
        (Graph(Discrete(2), Discrete(3)), Graph(Discrete(2), Discrete(2)), True),
        (Graph(Discrete(2), None), Graph(Box(0, 1), None), False),
        (Sequence(Discrete(2)), Sequence(Discrete(3)), True),
        (Sequence(Discrete(2)), Sequence(Discrete(2), stack=True), False),
        (Graph(Discrete(2), None), Discrete(2), False),
    ],
)
def test_equivalence(left, right, same):
    assert is_space_dtype_shape_equiv(left, right) is same
    assert is_space_dtype_shape_equiv(right, left) is same


def test_equivalence_of_the_unknown():
    with pytest.raises(NotImplementedError, match="Space"):
        is_space_dtype_shape_equiv(Space(), Space())
    with pytest.raises(SpaceTypeError, match="int"):
        is_space_dtype_shape_equiv(1, Discrete(2))
