from __future__ import annotations

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from ludus.spaces import SpaceTypeError, SpaceValueError, Text


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "words"),
    [
        ((2.0,), {}, SpaceTypeError, "max_length.*2.0"),
        ((2,), {"min_length": None}, SpaceTypeError, "min_length.*None"),
        ((2,), {"min_length": -1}, SpaceValueError, "min_length.*-1"),
        ((2,), {"min_length": 3}, SpaceValueError, "min_length=3 and max_length=2"),
        ((0,), {}, SpaceValueError, "min_length"),
        ((2,), {"charset": {"ab", "c"}}, SpaceValueError, "single character.*ab"),
        ((2,), {"charset": ["a", ""]}, SpaceValueError, "single character"),
    ],
)
def test_bad_arguments(args, kwargs, error, words):
    with pytest.raises(error, match=words):
        Text(*args, **kwargs)


def test_attributes():
    space = Text(np.int64(4), min_length=2, charset="cabb")
    assert (space.min_length, space.max_length) == (2, 4)
    assert space.character_list == ("c", "a", "b")
    assert space.character_set == frozenset("abc")
    assert space.characters == "abc"
    assert [space.character_index(char) for char in "cab"] == [0, 1, 2]
    assert type(space.character_index("a")) is np.int32
    assert space.dtype == np.dtype(str)
    assert space.shape is None
    assert space.is_np_flattenable
    with pytest.raises(KeyError):
        space.character_index("z")


def test_default_charset():
    assert len(Text(3).character_list) == 62
    assert Text(3).sample().isalnum()


def test_samples():
    space = Text(3, min_length=1, charset="xy", seed=2)
    samples = [space.sample() for _ in range(200)]
    assert {len(sample) for sample in samples} == {1, 2, 3}
    assert set("".join(samples)) == {"x", "y"}
    assert all(sample in space for sample in samples)


def test_null_character_survives():
    assert Text(5, min_length=5, charset="\0", seed=1).sample() == "\0" * 5


def test_order_of_a_set_does_not_depend_on_the_process():
    code = (
        "from ludus.spaces import Text; print(Text(9, charset=set('hello world'), seed=1).sample())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert len(outputs) == 1


def test_mask():
    space = Text(4, min_length=0, charset="abc", seed=1)
    assert set(space.sample(mask=(4, np.array([0, 1, 1], np.int8)))) <= {"b", "c"}
    assert len(space.sample(mask=(3, None))) == 3
    assert space.sample(mask=(None, np.zeros(3, np.int8))) == ""
    assert space.sample(mask=(None, None)) in space


def test_probability():
    space = Text(100, min_length=100, charset="abc", seed=1)
    counts = Counter(space.sample(probability=(None, np.array([0.1, 0.0, 0.9]))))
    assert counts.keys() == {"a", "c"}
    assert counts["c"] > 75


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"mask": 1, "probability": 1}, "only one of"),
        ({"mask": [1, None]}, "tuple"),
        ({"mask": (1,)}, "two parts"),
        ({"mask": (1.5, None)}, "integer, got 1.5"),
        ({"mask": (3, None)}, "between 1 and 2, got 3"),
        ({"mask": (None, [0, 1])}, "np.ndarray"),
        ({"mask": (None, np.array([0, 1]))}, "np.int8"),
        ({"mask": (None, np.array([0], np.int8))}, "shape"),
        ({"mask": (None, np.array([0, 2], np.int8))}, "0 or 1"),
        ({"mask": (None, np.array([0, 0], np.int8))}, "all zero"),
        ({"probability": (None, np.array([0.5, 0.1]))}, "sum"),
        ({"probability": (None, np.array([1.5, -0.5]))}, "between"),
    ],
)
def test_bad_masks(kwargs, words):
    with pytest.raises(AssertionError, match=words):
        Text(2, charset="ab").sample(**kwargs)


def test_no_characters():
    assert Text(3, min_length=0, charset="").sample() == ""
    with pytest.raises(SpaceValueError, match="all zero"):
        Text(3, charset="").sample()


@pytest.mark.parametrize(
    ("value", "member"),
    [
        ("a", True),
        ("ab", True),
        ("", False),
        ("abc", False),
        ("z", False),
        (1, False),
        (b"a", False),
    ],
)
def test_contains(value, member):
    assert Text(2, charset="ab").contains(value) is member


def test_repr_and_equality():
    assert repr(Text(2, charset="ba")) == "Text(1, 2, charset=ab)"
    space = Text(2, charset="ab")
    assert space == Text(2, charset={"a", "b"})
    others = [
        Text(3, charset="ab"),
        Text(2, min_length=0, charset="ab"),
        Text(2, charset="abc"),
        "",
    ]
    assert all(space != other for other in others)
