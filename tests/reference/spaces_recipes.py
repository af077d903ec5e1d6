"""Recipes for random spaces that both libraries can cook, and a comparison of what comes out."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from contextlib import contextmanager
from typing import Any

import gymnasium.spaces
import numpy as np
from hypothesis import strategies as st

import ludus.spaces

FLOATS = ["float16", "float32", "float64"]
INTEGERS = ["int8", "uint8", "int16", "int32", "int64", "uint32"]


@st.composite
def boxes(draw) -> tuple:
    dtype = np.dtype(draw(st.sampled_from([*FLOATS, *INTEGERS, "bool"])))
    # Without axes, Gymnasium's integer samples are scalars, of which `contains` then complains.
    axes = 0 if dtype.kind == "f" else 1
    shape = tuple(draw(st.lists(st.integers(1, 3), min_size=axes, max_size=3)))
    if shape and draw(st.integers(0, 9)) == 0:
        shape = (*shape[:-1], 0)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    if dtype.kind == "f":
        low, high = np.sort(rng.normal(size=(2, *shape)) * 10, axis=0).astype(dtype)
        # int64 is left out: Gymnasium's samples of unbounded int64 boxes wrap around.
    elif dtype.kind == "b":
        low, high = np.sort(rng.integers(0, 2, size=(2, *shape)), axis=0).astype(dtype)
    else:
        top = 100 if dtype.itemsize == 1 else 30_000
        bottom = -top if dtype.kind == "i" else 0
        low, high = np.sort(rng.integers(bottom, top, size=(2, *shape)), axis=0).astype(dtype)
    form = draw(st.sampled_from(["arrays", "numbers", "infinite arrays", "infinite numbers"]))
    if "infinite" in form and dtype.kind in "fi" and dtype != np.int64:
        if form == "infinite arrays":
            if dtype.kind == "i":
                low, high = low.astype(np.float64), high.astype(np.float64)
            low = np.where(rng.random(shape) < 0.5, -np.inf, low).astype(low.dtype)
            high = np.where(rng.random(shape) < 0.5, np.inf, high).astype(high.dtype)
        else:
            low, high = draw(st.sampled_from([(-np.inf, 5), (-3, np.inf), (-np.inf, np.inf)]))
    elif "numbers" in form:
        low, high = draw(st.sampled_from([(0, 1), (0, 100)])) if dtype.kind != "b" else (0, 1)
    return ("Box", {"low": low, "high": high, "shape": shape, "dtype": dtype.name})


@st.composite
def discretes(draw) -> tuple:
    dtype = draw(st.sampled_from(INTEGERS))
    start = draw(st.integers(0 if dtype.startswith("u") else -50, 50))
    return ("Discrete", {"n": draw(st.integers(1, 9)), "start": start, "dtype": dtype})


@st.composite
def multi_discretes(draw) -> tuple:
    dtype = draw(st.sampled_from(INTEGERS))
    shape = draw(st.sampled_from([(1,), (3,), (2, 2), (1, 2, 2)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    start = rng.integers(0 if dtype.startswith("u") else -50, 50, shape)
    kwargs = {"nvec": rng.integers(1, 9, shape), "dtype": dtype}
    return ("MultiDiscrete", kwargs | ({"start": start} if draw(st.booleans()) else {}))


multi_binaries = st.sampled_from([1, 5, (2,), [3, 2], (2, 1, 3)]).map(
    lambda n: ("MultiBinary", {"n": n})
)


@st.composite
def texts(draw) -> tuple:
    least = draw(st.integers(0, 3))
    charset = draw(st.sampled_from(["ab", "zyxa09", frozenset("qwe"), "ä€x", None]))
    kwargs = {"max_length": least + draw(st.integers(0, 4)), "min_length": least}
    return ("Text", kwargs if charset is None else {**kwargs, "charset": charset})


arrays = st.one_of(boxes(), discretes(), multi_discretes(), multi_binaries)
leaves = st.one_of(arrays, texts())


def composites(parts: Any) -> Any:
    several = st.lists(parts, min_size=1, max_size=3)
    by_key = st.dictionaries(st.sampled_from(["b", "a", "z", "key"]), parts, min_size=1, max_size=3)
    return st.one_of(
        several.map(lambda spaces: ("Tuple", {"spaces": spaces})),
        several.map(lambda spaces: ("OneOf", {"spaces": spaces})),
        st.builds(
            lambda d, sort: ("Dict", {"spaces": d, "sort_keys": sort}), by_key, st.booleans()
        ),
    )


def dynamics(parts: Any) -> Any:
    return st.one_of(
        st.builds(
            lambda s, stack: ("Sequence", {"space": s, "stack": stack}), parts, st.booleans()
        ),
        st.builds(
            lambda nodes, edges: ("Graph", {"node_space": nodes, "edge_space": edges}),
            parts,
            st.none() | parts,
        ),
    )


# Two levels are enough to meet every pair; graphs of graphs would only be slow.
fixed_recipes = leaves | composites(leaves | composites(leaves))
recipes = st.one_of(fixed_recipes, dynamics(fixed_recipes), composites(leaves | dynamics(leaves)))


def build(library: Any, recipe: Any) -> Any:
    """Build a space by a recipe in ``gymnasium.spaces`` or ``ludus.spaces``."""
    if recipe is None:
        return None
    kind, kwargs = recipe
    made = {}
    for name, value in kwargs.items():
        if name == "spaces" and isinstance(value, dict):
            value = type(value)((key, build(library, part)) for key, part in value.items())
        elif name == "spaces":
            value = [build(library, part) for part in value]
        elif name.endswith("space"):
            value = build(library, value)
        elif isinstance(value, np.ndarray):
            value = value.copy()  # Gymnasium writes into the arrays it is given
        made[name] = value
    return getattr(library, kind)(**made)


def pair(recipe: Any, seed: int | None = None) -> tuple[Any, Any]:
    theirs, ours = build(gymnasium.spaces, recipe), build(ludus.spaces, recipe)
    if seed is not None:
        theirs.seed(seed)
        ours.seed(seed)
    return theirs, ours


def weights(recipe: Any, kind: str, rng: np.random.Generator) -> Any:
    """Make a random mask or probability that fits the space of a recipe."""
    name, kwargs = recipe
    if name == "Box" or rng.random() < 0.1:
        return None
    if name == "Discrete":
        return _vector(kind, kwargs["n"], rng)
    if name == "MultiDiscrete":
        return _nested(kind, kwargs["nvec"], rng)
    if name == "MultiBinary":
        n = kwargs["n"]
        shape = (n,) if isinstance(n, int) else tuple(n)
        return rng.integers(0, 3, shape).astype(np.int8) if kind == "mask" else rng.random(shape)
    if name == "Text":
        least = kwargs["min_length"]
        length = None if rng.random() < 0.5 else int(rng.integers(least, kwargs["max_length"] + 1))
        size = len(kwargs.get("charset", "x" * 62))
        return length, None if rng.random() < 0.2 else _vector(kind, size, rng)
    if name == "Dict":
        return {key: weights(part, kind, rng) for key, part in kwargs["spaces"].items()}
    if name == "Sequence":
        lengths = [None, int(rng.integers(0, 4)), rng.integers(0, 4, 3)][rng.integers(3)]
        return lengths, weights(kwargs["space"], kind, rng)
    if name == "Graph":
        return None
    return tuple(weights(part, kind, rng) for part in kwargs["spaces"])


def _vector(kind: str, size: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "mask":
        return (rng.random(size) < 0.6).astype(np.int8)
    vector = rng.random(size) * (rng.random(size) < 0.7) + np.eye(size)[rng.integers(size)]
    return vector / vector.sum()


def _nested(kind: str, nvec: Any, rng: np.random.Generator) -> Any:
    if np.ndim(nvec) == 0:
        return _vector(kind, int(nvec), rng)
    return tuple(_nested(kind, part, rng) for part in nvec)


def to_ours(value: Any) -> Any:
    """Replace Gymnasium's class of graphs by ours, throughout a value."""
    if isinstance(value, (gymnasium.spaces.GraphInstance, ludus.spaces.GraphInstance)):
        return ludus.spaces.GraphInstance(*map(to_ours, value))
    if isinstance(value, dict):
        return {key: to_ours(part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(map(to_ours, value))
    return value


def assert_same(theirs: Any, ours: Any) -> None:
    """Compare values of the two libraries in type, dtype, shape and every bit."""
    theirs = to_ours(theirs)
    assert type(theirs) is type(ours), (theirs, ours)
    if isinstance(theirs, dict):
        assert list(theirs) == list(ours)
        for key in theirs:
            assert_same(theirs[key], ours[key])
    elif isinstance(theirs, (tuple, list)):
        assert len(theirs) == len(ours)
        for left, right in zip(theirs, ours, strict=True):
            assert_same(left, right)
    elif isinstance(theirs, (np.ndarray, np.generic)):
        assert theirs.dtype == ours.dtype
        assert theirs.shape == ours.shape
        np.testing.assert_array_equal(theirs, ours)
    else:
        assert theirs == ours


def assert_same_space(theirs: Any, ours: Any) -> None:
    """Compare two spaces: everything their text says, dtypes, and the next sample."""
    assert repr(theirs) == repr(ours)
    assert type(theirs).__name__ == type(ours).__name__
    assert theirs.shape == ours.shape
    assert theirs.dtype == ours.dtype
    assert_same(theirs.sample(), ours.sample())


def outcome(function: Any, *args: Any) -> tuple[Any, BaseException | None]:
    """Call a function; return its result or its exception."""
    try:
        return function(*args), None
    except Exception as problem:
        return None, problem


def assert_same_outcome(theirs: Any, ours: Any) -> None:
    """Compare two outcomes: the same value, or an exception that handlers of theirs catch."""
    if theirs[1] is None:
        assert ours[1] is None, ours[1]
        assert_same(theirs[0], ours[0])
    else:
        assert isinstance(ours[1], type(theirs[1])), (theirs[1], ours)


@contextmanager
def quietly() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


ORDERED = ("Dict", {"spaces": OrderedDict(z=("Discrete", {"n": 2}), a=("MultiBinary", {"n": 2}))})
