"""Every public name and parameter of Gymnasium's spaces exists in ours, in the same order."""

from __future__ import annotations

import inspect

import gymnasium.spaces
import gymnasium.spaces.utils
import gymnasium.vector.utils
import numpy as np
import pytest

import ludus.spaces
import ludus.spaces.utils

CLASSES = [name for name in gymnasium.spaces.__all__ if name[0].isupper()]
# The other two names of gymnasium.vector.utils have nothing to do with spaces.
VECTOR = set(gymnasium.vector.utils.__all__) - {"CloudpickleWrapper", "clear_mpi_env_vars"}
UTILS = [
    name
    for name, value in vars(gymnasium.spaces.utils).items()
    if callable(value)
    and not name.startswith("_")
    and getattr(value, "__module__", "") == "gymnasium.spaces.utils"
]


def _parameters(function):
    return [
        (parameter.name, parameter.kind, parameter.default)
        for parameter in inspect.signature(function).parameters.values()
    ]


def _assert_same_parameters(theirs, ours):
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    theirs, ours = _parameters(theirs), _parameters(ours)
    for left, right in zip(theirs, ours, strict=True):
        if left[1] in named:  # `__eq__(self, other, /)` has no names that a caller could use
            assert left[:2] == right[:2]
        assert left[2] == right[2] or (left[2] is not inspect.Parameter.empty and callable(left[2]))


@pytest.mark.parametrize("name", gymnasium.spaces.__all__)
def test_names(name):
    assert hasattr(ludus.spaces, name)
    assert name in ludus.spaces.__all__


@pytest.mark.parametrize("name", UTILS)
def test_names_of_utils(name):
    assert hasattr(ludus.spaces.utils, name)
    _assert_same_parameters(
        getattr(gymnasium.spaces.utils, name), getattr(ludus.spaces.utils, name)
    )


@pytest.mark.parametrize("name", sorted(VECTOR))
def test_vector_functions(name):
    theirs, ours = getattr(gymnasium.vector.utils, name), getattr(ludus.spaces, name)
    _assert_same_parameters(theirs, ours)
    # Both can be taught new spaces.
    assert hasattr(theirs, "register") == hasattr(ours, "register")


@pytest.mark.parametrize("name", CLASSES)
def test_constructors(name):
    theirs, ours = getattr(gymnasium.spaces, name), getattr(ludus.spaces, name)
    _assert_same_parameters(theirs.__init__, ours.__init__)


@pytest.mark.parametrize("name", CLASSES)
def test_members(name):
    theirs, ours = getattr(gymnasium.spaces, name), getattr(ludus.spaces, name)
    for member, value in inspect.getmembers(theirs):
        if member.startswith("_") and not member.startswith("__"):
            continue
        if (
            member == "__slotnames__"
        ):  # left behind by copyreg, on whichever class was pickled first
            continue
        assert hasattr(ours, member), member
        if inspect.isfunction(value) and not member.startswith("__"):
            _assert_same_parameters(value, getattr(ours, member))
        assert isinstance(value, property) == isinstance(getattr(ours, member), property), member


@pytest.mark.parametrize("name", CLASSES)
def test_annotated_attributes(name):
    theirs, ours = getattr(gymnasium.spaces, name), getattr(ludus.spaces, name)
    public = {attribute for attribute in theirs.__annotations__ if not attribute.startswith("_")}
    known = {
        attribute for kind in ours.__mro__ for attribute in getattr(kind, "__annotations__", {})
    }
    assert public <= known


def test_subscripts_at_run_time():
    assert ludus.spaces.Box[np.float32]
    assert ludus.spaces.Discrete[np.int64]
    assert ludus.spaces.MultiDiscrete[np.int64]
    assert ludus.spaces.Space[int]
    assert ludus.spaces.Tuple[int]
    assert ludus.spaces.Dict[int]
    assert ludus.spaces.OneOf[int]
