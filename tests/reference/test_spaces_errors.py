"""Whatever Gymnasium refuses, our spaces refuse with an exception that the same handler catches."""

from __future__ import annotations

import gymnasium.spaces
import gymnasium.vector.utils
import numpy as np
import pytest

import ludus.errors
import ludus.spaces
from tests.reference.spaces_recipes import outcome, quietly

I8, F64 = np.int8, np.float64

CONSTRUCTORS = {
    "Box without dtype": lambda S: S.Box(0, 1, dtype=None),
    "Box of complex": lambda S: S.Box(0, 1, dtype=np.complex64),
    "Box of objects": lambda S: S.Box(0, 1, dtype=object),
    "Box of strings": lambda S: S.Box(0, 1, dtype=str),
    "Box shape int": lambda S: S.Box(0, 1, shape=3),
    "Box shape floats": lambda S: S.Box(0, 1, shape=(3.0, 2)),
    "Box shape text": lambda S: S.Box(0, 1, shape="ab"),
    "Box negative shape": lambda S: S.Box(0, 1, shape=(-1,)),
    "Box shapes differ": lambda S: S.Box(np.zeros(2), np.ones(3), dtype=F64),
    "Box low shape differs": lambda S: S.Box(np.zeros(2), 1, (3,), dtype=F64),
    "Box high shape differs": lambda S: S.Box(0, np.ones(2), (3,), dtype=F64),
    "Box of lists": lambda S: S.Box([0], [1]),
    "Box of lists with shape": lambda S: S.Box([0], [1], (1,)),
    "Box high list": lambda S: S.Box(0, [1], (1,)),
    "Box of None": lambda S: S.Box(None, None),
    "Box of bools": lambda S: S.Box(False, True),
    "Box of bools with shape": lambda S: S.Box(False, True, (1,)),
    "Box of strings as bounds": lambda S: S.Box("0", "1"),
    "Box object array": lambda S: S.Box(np.array([0], object), np.array([1], object)),
    "Box string array": lambda S: S.Box(np.array(["a"]), 1),
    "Box complex high": lambda S: S.Box(0, np.array([1j])),
    "Box low nan": lambda S: S.Box(np.nan, 1),
    "Box high nan": lambda S: S.Box(0, np.nan),
    "Box low nan array": lambda S: S.Box(np.array([np.nan]), 1, dtype=F64),
    "Box high nan array": lambda S: S.Box(0, np.array([np.nan]), dtype=F64),
    "Box uint8 -inf": lambda S: S.Box(-np.inf, 1, dtype=np.uint8),
    "Box uint8 inf": lambda S: S.Box(0, np.inf, dtype=np.uint8),
    "Box uint8 -inf array": lambda S: S.Box(np.array([-np.inf]), 1, dtype=np.uint8),
    "Box uint8 inf array": lambda S: S.Box(0, np.array([np.inf]), dtype=np.uint8),
    "Box bool inf": lambda S: S.Box(0, np.inf, dtype=bool),
    "Box uint8 below": lambda S: S.Box(-1, 1, dtype=np.uint8),
    "Box uint8 above": lambda S: S.Box(0, 256, dtype=np.uint8),
    "Box uint8 low above": lambda S: S.Box(300, 400, dtype=np.uint8),
    "Box uint8 high below": lambda S: S.Box(0, -1, dtype=np.uint8),
    "Box int8 array below": lambda S: S.Box(np.array([-129]), 1, dtype=I8),
    "Box int8 array above": lambda S: S.Box(0, np.array([128]), dtype=I8),
    "Box float32 below": lambda S: S.Box(-1e300, 1),
    "Box float32 array above": lambda S: S.Box(0, np.array([1e300])),
    "Box low above high": lambda S: S.Box(1, 0),
    "Box low above high array": lambda S: S.Box(np.array([0, 2]), np.array([1, 1]), dtype=F64),
    "Box low above high infinite": lambda S: S.Box(np.inf, -np.inf),
    "Box seed text": lambda S: S.Box(0, 1, seed="a"),
    "Box seed negative": lambda S: S.Box(0, 1, seed=-1),
    "Box seed np": lambda S: S.Box(0, 1, seed=np.int64(3)),
    "Discrete zero": lambda S: S.Discrete(0),
    "Discrete negative": lambda S: S.Discrete(-3),
    "Discrete float": lambda S: S.Discrete(3.0),
    "Discrete text": lambda S: S.Discrete("3"),
    "Discrete bool": lambda S: S.Discrete(True),
    "Discrete None": lambda S: S.Discrete(None),
    "Discrete array": lambda S: S.Discrete(np.array([3])),
    "Discrete start float": lambda S: S.Discrete(3, start=1.5),
    "Discrete start None": lambda S: S.Discrete(3, start=None),
    "Discrete dtype None": lambda S: S.Discrete(3, dtype=None),
    "Discrete dtype float": lambda S: S.Discrete(3, dtype=np.float32),
    "Discrete dtype bool": lambda S: S.Discrete(3, dtype=bool),
    "Discrete n over dtype": lambda S: S.Discrete(300, dtype=np.uint8),
    "Discrete start under dtype": lambda S: S.Discrete(3, start=-1, dtype=np.uint8),
    "MultiBinary zero": lambda S: S.MultiBinary(0),
    "MultiBinary negative": lambda S: S.MultiBinary([2, -1]),
    "MultiBinary zero axis": lambda S: S.MultiBinary((2, 0)),
    "MultiBinary float": lambda S: S.MultiBinary(2.0),
    "MultiBinary None": lambda S: S.MultiBinary(None),
    "MultiBinary set": lambda S: S.MultiBinary({2}),
    "MultiBinary words": lambda S: S.MultiBinary(["a"]),
    "MultiDiscrete zero": lambda S: S.MultiDiscrete([2, 0]),
    "MultiDiscrete negative": lambda S: S.MultiDiscrete([-1]),
    "MultiDiscrete dtype None": lambda S: S.MultiDiscrete([2], dtype=None),
    "MultiDiscrete dtype float": lambda S: S.MultiDiscrete([2], dtype=F64),
    "MultiDiscrete start shape": lambda S: S.MultiDiscrete([2, 2], start=[0]),
    "MultiDiscrete over dtype": lambda S: S.MultiDiscrete([300], dtype=np.uint8),
    "MultiDiscrete ragged": lambda S: S.MultiDiscrete([[1, 2], [3]]),
    "MultiDiscrete words": lambda S: S.MultiDiscrete(["a"]),
    "Text float": lambda S: S.Text(3.0),
    "Text float minimum": lambda S: S.Text(3, min_length=1.0),
    "Text negative minimum": lambda S: S.Text(3, min_length=-1),
    "Text minimum above maximum": lambda S: S.Text(3, min_length=4),
    "Text zero": lambda S: S.Text(0),
    "Text positional minimum": lambda S: S.Text(3, 1),
    "Text long characters": lambda S: S.Text(3, charset={"ab", "c"}),
    "Text number as charset": lambda S: S.Text(3, charset=5),
    "Tuple of ints": lambda S: S.Tuple([1, 2]),
    "Tuple of nothing": lambda S: S.Tuple(None),
    "Tuple seeds too few": lambda S: S.Tuple([S.Discrete(2)], seed=[]),
    "Tuple seed text": lambda S: S.Tuple([S.Discrete(2)], seed="a"),
    "Dict of ints": lambda S: S.Dict(a=1),
    "Dict number": lambda S: S.Dict(1),
    "Dict set": lambda S: S.Dict({"a"}),
    "Dict key twice": lambda S: S.Dict({"a": S.Discrete(2)}, a=S.Discrete(3)),
    "Dict seed text": lambda S: S.Dict(a=S.Discrete(2), seed="a"),
    "Dict seed keys": lambda S: S.Dict(a=S.Discrete(2), seed={"b": 1}),
    "Sequence of int": lambda S: S.Sequence(3),
    "Sequence seeds": lambda S: S.Sequence(S.Discrete(2), seed=[1, 2, 3]),
    "Sequence seed text": lambda S: S.Sequence(S.Discrete(2), seed="a"),
    "Graph of ints": lambda S: S.Graph(3, None),
    "Graph edges int": lambda S: S.Graph(S.Discrete(3), 3),
    "Graph seeds": lambda S: S.Graph(S.Discrete(3), None, seed=[1, 2, 3]),
    "Graph seeds with edges": lambda S: S.Graph(S.Discrete(3), S.Discrete(2), seed=[1, 2]),
    "Graph seed text": lambda S: S.Graph(S.Discrete(3), None, seed="a"),
    "OneOf empty": lambda S: S.OneOf([]),
    "OneOf number": lambda S: S.OneOf(3),
    "OneOf of ints": lambda S: S.OneOf([3]),
    "OneOf seeds": lambda S: S.OneOf([S.Discrete(2)], seed=[1]),
    "OneOf seed text": lambda S: S.OneOf([S.Discrete(2)], seed="a"),
}

MASKS = {
    "Box": lambda S: S.Box(0, 1).sample(mask=np.array([1], I8)),
    "Box probability": lambda S: S.Box(0, 1).sample(probability=np.array([1.0])),
    "Discrete both": lambda S: S.Discrete(2).sample(mask=1, probability=1),
    "Discrete list": lambda S: S.Discrete(2).sample(mask=[1, 0]),
    "Discrete dtype": lambda S: S.Discrete(2).sample(mask=np.array([1, 0])),
    "Discrete shape": lambda S: S.Discrete(2).sample(mask=np.array([1], I8)),
    "Discrete values": lambda S: S.Discrete(2).sample(mask=np.array([1, 2], I8)),
    "Discrete probability list": lambda S: S.Discrete(2).sample(probability=[1, 0]),
    "Discrete probability dtype": lambda S: S.Discrete(2).sample(probability=np.array([1, 0])),
    "Discrete probability shape": lambda S: S.Discrete(2).sample(probability=np.array([1.0])),
    "Discrete probability range": lambda S: S.Discrete(2).sample(probability=np.array([2.0, -1])),
    "Discrete probability sum": lambda S: S.Discrete(2).sample(probability=np.array([0.5, 0.4])),
    "Discrete probability nan": lambda S: S.Discrete(2).sample(probability=np.array([np.nan, 1])),
    "MultiBinary both": lambda S: S.MultiBinary(2).sample(mask=1, probability=1),
    "MultiBinary list": lambda S: S.MultiBinary(2).sample(mask=[1, 0]),
    "MultiBinary dtype": lambda S: S.MultiBinary(2).sample(mask=np.array([1, 0])),
    "MultiBinary shape": lambda S: S.MultiBinary(2).sample(mask=np.array([1], I8)),
    "MultiBinary values": lambda S: S.MultiBinary(2).sample(mask=np.array([1, 3], I8)),
    "MultiBinary range": lambda S: S.MultiBinary(2).sample(probability=np.array([1.0, 2])),
    "MultiDiscrete both": lambda S: S.MultiDiscrete([2]).sample(mask=1, probability=1),
    "MultiDiscrete array": lambda S: S.MultiDiscrete([2]).sample(mask=np.array([1, 0], I8)),
    "MultiDiscrete length": lambda S: S.MultiDiscrete([2]).sample(mask=()),
    "MultiDiscrete list inside": lambda S: S.MultiDiscrete([2]).sample(mask=([1, 0],)),
    "MultiDiscrete size": lambda S: S.MultiDiscrete([2]).sample(mask=(np.array([1], I8),)),
    "MultiDiscrete dtype": lambda S: S.MultiDiscrete([2]).sample(mask=(np.array([1, 0]),)),
    "MultiDiscrete values": lambda S: S.MultiDiscrete([2]).sample(mask=(np.array([1, 2], I8),)),
    "MultiDiscrete sum": lambda S: S.MultiDiscrete([2]).sample(probability=(np.array([0.5, 0.1]),)),
    "MultiDiscrete range": lambda S: S.MultiDiscrete([2]).sample(
        probability=(np.array([2.0, -1.0]),)
    ),
    "Text both": lambda S: S.Text(2).sample(mask=1, probability=1),
    "Text list": lambda S: S.Text(2).sample(mask=[1, None]),
    "Text three": lambda S: S.Text(2).sample(mask=(1, None, None)),
    "Text length type": lambda S: S.Text(2).sample(mask=(1.0, None)),
    "Text length range": lambda S: S.Text(2).sample(mask=(5, None)),
    "Text mask list": lambda S: S.Text(2, charset="ab").sample(mask=(None, [1, 0])),
    "Text mask dtype": lambda S: S.Text(2, charset="ab").sample(mask=(None, np.array([1, 0]))),
    "Text mask shape": lambda S: S.Text(2, charset="ab").sample(mask=(None, np.array([1], I8))),
    "Text mask values": lambda S: S.Text(2, charset="ab").sample(mask=(None, np.array([3, 0], I8))),
    "Text mask none": lambda S: S.Text(2, charset="ab").sample(mask=(None, np.array([0, 0], I8))),
    "Text sum": lambda S: S.Text(2, charset="ab").sample(probability=(None, np.array([0.2, 0.1]))),
    "Text range": lambda S: S.Text(2, charset="ab").sample(probability=(None, np.array([2.0, -1]))),
    "Tuple both": lambda S: S.Tuple([S.Discrete(2)]).sample(mask=(), probability=()),
    "Tuple list": lambda S: S.Tuple([S.Discrete(2)]).sample(mask=[None]),
    "Tuple length": lambda S: S.Tuple([S.Discrete(2)]).sample(probability=()),
    "Dict both": lambda S: S.Dict(a=S.Discrete(2)).sample(mask={}, probability={}),
    "Dict tuple": lambda S: S.Dict(a=S.Discrete(2)).sample(mask=(None,)),
    "Dict keys": lambda S: S.Dict(a=S.Discrete(2)).sample(probability={"b": None}),
    "OneOf both": lambda S: S.OneOf([S.Discrete(2)]).sample(mask=(), probability=()),
    "OneOf list": lambda S: S.OneOf([S.Discrete(2)]).sample(mask=[None]),
    "OneOf length": lambda S: S.OneOf([S.Discrete(2)]).sample(probability=()),
    "Sequence both": lambda S: S.Sequence(S.Discrete(2)).sample(mask=1, probability=1),
    "Sequence length negative": lambda S: S.Sequence(S.Discrete(2)).sample(mask=(-1, None)),
    "Sequence length float": lambda S: S.Sequence(S.Discrete(2)).sample(mask=(1.0, None)),
    "Sequence lengths axes": lambda S: S.Sequence(S.Discrete(2)).sample(mask=(np.eye(2), None)),
    "Sequence lengths negative": lambda S: S.Sequence(S.Discrete(2)).sample(
        mask=(np.array([-1]), None)
    ),
    "Sequence lengths float": lambda S: S.Sequence(S.Discrete(2)).sample(
        probability=(np.array([1.0]), None)
    ),
    "Graph both": lambda S: S.Graph(S.Discrete(2), None).sample(mask=1, probability=1),
    "Graph no nodes": lambda S: S.Graph(S.Discrete(2), None).sample(num_nodes=0),
    "Graph negative edges": lambda S: S.Graph(S.Discrete(2), S.Discrete(2)).sample(num_edges=-1),
    "Graph mask triple": lambda S: S.Graph(S.Discrete(2), None).sample(mask=(1, 2, 3)),
}

OTHERS = {
    "is_bounded": lambda S: S.Box(0, 1).is_bounded("sideways"),
    "Dict item": lambda S: S.Dict(a=S.Discrete(2)).__setitem__("b", 3),
    "Dict key": lambda S: S.Dict(a=S.Discrete(2))["b"],
    "Tuple index": lambda S: S.Tuple([S.Discrete(2)])[1],
    "Text index": lambda S: S.Text(2, charset="a").character_index("b"),
    "base sample": lambda S: S.Space().sample(),
    "base contains": lambda S: 1 in S.Space(),
    "base flattenable": lambda S: S.Space().is_np_flattenable,
    "flatdim Sequence": lambda S: S.flatdim(S.Sequence(S.Discrete(2))),
    "flatdim Graph": lambda S: S.flatdim(S.Graph(S.Discrete(2), None)),
    "flatdim Tuple": lambda S: S.flatdim(S.Tuple([S.Sequence(S.Discrete(2))])),
    "flatdim Dict": lambda S: S.flatdim(S.Dict(a=S.Graph(S.Discrete(2), None))),
    "flatdim base": lambda S: S.flatdim(S.Space()),
    "flatten base": lambda S: S.flatten(S.Space(), 1),
    "unflatten base": lambda S: S.unflatten(S.Space(), 1),
    "flatten_space base": lambda S: S.flatten_space(S.Space()),
    "flatten Discrete": lambda S: S.flatten(S.Discrete(2), 5),
    "flatten Text": lambda S: S.flatten(S.Text(2), "abc"),
    "flatten Text char": lambda S: S.flatten(S.Text(2), "~"),
    "flatten Tuple": lambda S: S.flatten(S.Tuple([S.Discrete(2)]), (1, 1)),
    "flatten Dict": lambda S: S.flatten(S.Dict(a=S.Discrete(2)), {}),
    "unflatten Discrete": lambda S: S.unflatten(S.Discrete(2), np.zeros(2)),
    "unflatten MultiDiscrete": lambda S: S.unflatten(S.MultiDiscrete([2, 2]), np.zeros(4)),
    "unflatten Tuple": lambda S: S.unflatten(S.Tuple([S.Discrete(2)]), (1,)),
    "unflatten Tuple array": lambda S: S.unflatten(
        S.Tuple([S.Sequence(S.Discrete(2))]), np.ones(1)
    ),
    "unflatten Dict": lambda S: S.unflatten(S.Dict(a=S.Discrete(2)), {"a": 1}),
    "unflatten Dict array": lambda S: S.unflatten(S.Dict(a=S.Sequence(S.Discrete(2))), np.ones(1)),
    "unflatten Box": lambda S: S.unflatten(S.Box(0, 1, (2,)), np.ones(3)),
    "equivalence base": lambda S: S.utils.is_space_dtype_shape_equiv(S.Space(), S.Space()),
    "equivalence ints": lambda S: S.utils.is_space_dtype_shape_equiv(1, 2),
}


VECTOR = {
    "batch int": lambda S, V: V.batch_space(3, 2),
    "iterate int": lambda S, V: V.iterate(3, 2),
    "iterate base": lambda S, V: V.iterate(S.Space(), 2),
    "iterate Discrete": lambda S, V: V.iterate(S.Discrete(2), 1),
    "iterate Box": lambda S, V: V.iterate(S.Box(0, 1), 1),
    "iterate texts": lambda S, V: V.iterate(S.Tuple([S.Text(2)]), 1),
    "concatenate int": lambda S, V: V.concatenate(3, [1], None),
    "concatenate shapes": lambda S, V: V.concatenate(
        S.Box(0, 1, (2,)), [np.zeros(2), np.zeros(3)], np.zeros((2, 2))
    ),
    "concatenate rows": lambda S, V: V.concatenate(
        S.Box(0, 1, (2,)), [np.zeros(2)], np.zeros((2, 2))
    ),
    "concatenate cast": lambda S, V: V.concatenate(
        S.Box(0, 1, (2,), I8), [np.zeros(2)], np.zeros((1, 2), I8)
    ),
    "concatenate scalars cast": lambda S, V: V.concatenate(
        S.Discrete(2), [0.5, 1.5], np.zeros(2, int)
    ),
    "concatenate scalars rows": lambda S, V: V.concatenate(S.Discrete(2), [0, 1], np.zeros(3, int)),
    "empty int": lambda S, V: V.create_empty_array(3),
    "differing none": lambda S, V: V.batch_differing_spaces([]),
    "differing types": lambda S, V: V.batch_differing_spaces([S.Discrete(2), S.MultiBinary(2)]),
    "differing base": lambda S, V: V.batch_differing_spaces([S.Space()]),
    "differing ints": lambda S, V: V.batch_differing_spaces([1, 2]),
    "differing dtypes": lambda S, V: V.batch_differing_spaces(
        [S.Box(0, 1), S.Box(0, 1, dtype=F64)]
    ),
    "differing shapes": lambda S, V: V.batch_differing_spaces([S.Box(0, 1), S.Box(0, 1, (2,))]),
    "differing nvec": lambda S, V: V.batch_differing_spaces(
        [S.MultiDiscrete([2]), S.MultiDiscrete([2, 2])]
    ),
    "differing nvec dtype": lambda S, V: V.batch_differing_spaces(
        [S.MultiDiscrete([2]), S.MultiDiscrete([2], dtype=I8)]
    ),
    "differing bits": lambda S, V: V.batch_differing_spaces([S.MultiBinary(2), S.MultiBinary(3)]),
    "differing tuples": lambda S, V: V.batch_differing_spaces(
        [S.Tuple([S.Discrete(2)]), S.Tuple([])]
    ),
    "differing keys": lambda S, V: V.batch_differing_spaces(
        [S.Dict(a=S.Discrete(2)), S.Dict(b=S.Discrete(2))]
    ),
    "memory int": lambda S, V: V.create_shared_memory(3),
    "memory base": lambda S, V: V.create_shared_memory(S.Space()),
    "memory Graph": lambda S, V: V.create_shared_memory(S.Graph(S.Discrete(2), None)),
    "memory Sequence": lambda S, V: V.create_shared_memory(S.Sequence(S.Discrete(2))),
    "read int": lambda S, V: V.read_from_shared_memory(3, None),
    "read base": lambda S, V: V.read_from_shared_memory(S.Space(), None),
    "write int": lambda S, V: V.write_to_shared_memory(3, 0, None, None),
    "write base": lambda S, V: V.write_to_shared_memory(S.Space(), 0, None, None),
}


def _kinds(problem):
    """Return the built-in type of an exception, or our class of the same name as Gymnasium's."""
    kind = type(problem)
    if kind.__module__ == "gymnasium.error":
        return getattr(ludus.errors, kind.__name__)
    return next(base for base in kind.__mro__ if base.__module__ == "builtins")


def _assert_alike(theirs, ours):
    assert theirs[1] is not None, f"Gymnasium accepts it: {theirs[0]}"
    assert ours[1] is not None, f"accepted, Gymnasium raises {theirs[1]!r}: {ours[0]}"
    assert isinstance(ours[1], _kinds(theirs[1])), (theirs[1], ours[1])
    assert str(ours[1])


@pytest.mark.parametrize("case", [*CONSTRUCTORS.values()], ids=[*CONSTRUCTORS])
def test_constructors(case):
    with quietly():
        theirs = outcome(case, gymnasium.spaces)
        ours = outcome(case, ludus.spaces)
    _assert_alike(theirs, ours)


@pytest.mark.parametrize("case", [*MASKS.values()], ids=[*MASKS])
def test_masks(case):
    theirs, ours = outcome(case, gymnasium.spaces), outcome(case, ludus.spaces)
    _assert_alike(theirs, ours)
    assert isinstance(ours[1], (ludus.errors.Error, TypeError, ValueError))


@pytest.mark.parametrize("case", [*OTHERS.values()], ids=[*OTHERS])
def test_others(case):
    _assert_alike(outcome(case, gymnasium.spaces), outcome(case, ludus.spaces))


@pytest.mark.parametrize("case", [*VECTOR.values()], ids=[*VECTOR])
def test_vector_functions(case):
    _assert_alike(
        outcome(case, gymnasium.spaces, gymnasium.vector.utils),
        outcome(case, ludus.spaces, ludus.spaces),
    )
