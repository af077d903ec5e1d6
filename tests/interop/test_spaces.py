from __future__ import annotations

import copy
import inspect
import pickle
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from packaging.version import Version

from ludus import spaces
from ludus.core.foreign.spaces import rebuild
from ludus.errors import CustomSpaceError
from ludus.interop.gymnasium import from_gymnasium_space, to_gymnasium_space
from tests.reference.twins import assert_same

BUILDERS = {
    "box": lambda s: s.Box(-1.5, 2.5, (2, 3), np.float32),
    "box float64, uneven": lambda s: s.Box(np.array([-1.0, 0.1]), np.array([0.3, 7.0]), (2,), "f8"),
    "box half bounded": lambda s: s.Box(
        np.array([-np.inf, 0.0, -np.inf]), np.array([1.0, np.inf, np.inf]), (3,), np.float64
    ),
    "box uint8": lambda s: s.Box(0, 255, (4, 4, 3), np.uint8),
    "box bool": lambda s: s.Box(0, 1, (3,), np.bool_),
    "box unbounded int64": lambda s: s.Box(-np.inf, np.inf, (2,), np.int64),
    "box scalar": lambda s: s.Box(0.0, 1.0, ()),
    "discrete": lambda s: s.Discrete(5),
    "discrete start": lambda s: s.Discrete(4, start=-2),
    "discrete dtype": lambda s: s.Discrete(4, dtype=np.int32),
    "multi discrete": lambda s: s.MultiDiscrete([[2, 3], [4, 5]]),
    "multi discrete start": lambda s: s.MultiDiscrete([2, 3], start=[1, -1], dtype=np.int32),
    "multi binary": lambda s: s.MultiBinary((2, 3)),
    "multi binary flat": lambda s: s.MultiBinary(4),
    "text": lambda s: s.Text(6, min_length=2, charset="zebra"),
    "text default": lambda s: s.Text(3),
    "tuple": lambda s: s.Tuple((s.Discrete(3), s.Box(0, 1, (2,)))),
    "dict": lambda s: s.Dict({"b": s.Discrete(3), "a": s.Box(0, 1, (2,))}),
    "dict unsorted": lambda s: s.Dict([("z", s.Discrete(3)), ("a", s.Discrete(2))]),
    "dict nested": lambda s: s.Dict(
        {"x": s.Dict({"y": s.Tuple((s.Discrete(2), s.MultiBinary(2)))})}
    ),
    "sequence": lambda s: s.Sequence(s.Box(0, 1, (2,))),
    "sequence stacked": lambda s: s.Sequence(s.Discrete(4), stack=True),
    "graph": lambda s: s.Graph(s.Box(0, 1, (2,)), s.Discrete(3)),
    "graph without edges": lambda s: s.Graph(s.Discrete(4), None),
    "one of": lambda s: s.OneOf((s.Discrete(3), s.Box(0, 1, (2,)))),
}


NARROW_DISCRETE = "dtype" in inspect.signature(gymnasium.spaces.Discrete).parameters
SAME_GRAPHS = Version(gymnasium.__version__) >= Version("1.4")


def skip_without_dtype(name: str) -> None:
    if name == "discrete dtype" and not NARROW_DISCRETE:
        pytest.skip("this Gymnasium has no Discrete with a dtype")


def draw(space: Any, count: int = 4) -> list[Any]:
    samples = [space.sample() for _ in range(count)]
    return [tuple(s) if type(s).__name__ == "GraphInstance" else s for s in samples]


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("direction", ["to", "from"])
def test_converted_space_is_the_same_set_and_continues_the_samples(
    name: str, direction: str
) -> None:
    skip_without_dtype(name)
    if "graph" in name and not SAME_GRAPHS:
        pytest.skip("this Gymnasium draws other graphs from the same generator")
    source, target, convert = {
        "to": (spaces, gymnasium.spaces, to_gymnasium_space),
        "from": (gymnasium.spaces, spaces, from_gymnasium_space),
    }[direction]
    space = BUILDERS[name](source)
    space.seed(11)
    draw(space)

    converted = convert(space)

    assert isinstance(converted, target.Space)
    expected = BUILDERS[name](target)
    assert converted == expected
    assert repr(converted) == repr(expected)
    assert converted.dtype == expected.dtype
    assert converted.shape == expected.shape
    for ours, theirs in zip(draw(space), draw(converted), strict=True):
        if "graph" not in name and "stacked" not in name:
            assert converted.contains(ours)
        assert_same(_leaves(ours), _leaves(theirs))


def _leaves(sample: Any) -> Any:
    """Strings and None compare as objects, not as arrays of characters."""
    if isinstance(sample, tuple | list):
        return [_leaves(part) for part in sample]
    return np.array([sample], dtype=object) if isinstance(sample, str) or sample is None else sample


@pytest.mark.parametrize("name", BUILDERS)
def test_there_and_back(name: str) -> None:
    skip_without_dtype(name)
    space = BUILDERS[name](spaces)
    back = from_gymnasium_space(to_gymnasium_space(space))
    assert back == space
    assert type(back) is type(space)


class DiscreteWithoutDtype:
    """Discrete as Gymnasium had it before the argument ``dtype``."""

    def __init__(self, n: int, seed: Any = None, start: int = 0) -> None:
        self.n, self.start = n, start


def test_a_library_without_dtypes_gets_the_same_numbers() -> None:
    library = SimpleNamespace(Discrete=DiscreteWithoutDtype)
    built = rebuild(spaces.Discrete(4, start=2, dtype=np.int32), library)
    assert (built.n, built.start) == (4, 2)


def test_unbounded_integers_stay_unbounded() -> None:
    box = to_gymnasium_space(spaces.Box(-np.inf, np.inf, (2,), np.int64))
    assert not box.is_bounded("below")
    assert not box.is_bounded("above")


def test_spaces_of_the_right_library_are_returned_as_they_are() -> None:
    ours, theirs = spaces.Discrete(2), gymnasium.spaces.Discrete(2)
    assert from_gymnasium_space(ours) is ours
    assert to_gymnasium_space(theirs) is theirs


def test_an_unseeded_space_stays_unseeded() -> None:
    assert to_gymnasium_space(spaces.Discrete(2))._np_random is None


def test_conversion_leaves_the_original_alone() -> None:
    space = spaces.Box(0, 1, (2,), seed=3)
    converted = to_gymnasium_space(space)
    converted.sample()
    converted.low[:] = -5
    np.testing.assert_array_equal(space.sample(), spaces.Box(0, 1, (2,), seed=3).sample())
    assert space.low.min() == 0


def test_parts_that_are_one_object_or_share_a_generator_still_do() -> None:
    part = spaces.Discrete(100)
    rng = np.random.default_rng(5)
    space = spaces.Tuple(
        (part, part, spaces.Discrete(100, seed=rng), spaces.Discrete(100, seed=rng))
    )
    converted = to_gymnasium_space(space)
    first, second, third, fourth = converted.spaces
    assert first is second
    assert third.np_random is fourth.np_random
    assert third.np_random is not rng


def test_a_subclass_is_converted_as_what_it_derives_from() -> None:
    class Image(spaces.Box):
        pass

    assert to_gymnasium_space(Image(0, 255, (2, 2), np.uint8)) == gymnasium.spaces.Box(
        0, 255, (2, 2), np.uint8
    )


class Words(spaces.Space[str]):
    """A space that Gymnasium has no counterpart of."""

    is_np_flattenable = False

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        return ["yes", "no", "perhaps"][int(self.np_random.integers(3))]

    def contains(self, x: Any) -> bool:
        return x in ("yes", "no", "perhaps")


@pytest.mark.parametrize("nested", [False, True])
def test_a_custom_space_is_asked_for_everything(nested: bool) -> None:
    space: Any = Words()
    if nested:
        space = spaces.Dict({"a": spaces.Discrete(2), "words": space})
    adapted, twin = to_gymnasium_space(space), copy.deepcopy(space)
    assert isinstance(adapted, gymnasium.Space)
    adapted.seed(3)
    twin.seed(3)
    drawn = [adapted.sample() for _ in range(5)]
    assert drawn == [twin.sample() for _ in range(5)]
    assert all(adapted.contains(x) for x in drawn)
    assert "never" not in adapted
    assert adapted.is_np_flattenable == space.is_np_flattenable
    back = from_gymnasium_space(adapted)
    assert type(back) is type(space)
    assert [back.sample() for _ in range(5)] == [twin.sample() for _ in range(5)]
    restored = pickle.loads(pickle.dumps(adapted))
    assert restored.sample() == adapted.sample()


def test_what_is_no_space_is_refused() -> None:
    with pytest.raises(CustomSpaceError, match="only the standard spaces"):
        to_gymnasium_space("Discrete(3)")  # type: ignore[arg-type]


def classic(name: str, **attributes: Any) -> Any:
    """Return a space as classic Gym 0.21 had it, without Gym."""
    cls = type(name, (), {"__module__": f"gym.spaces.{name.lower()}"})
    space = cls()
    vars(space).update(attributes, _np_random=np.random.RandomState(0))
    return space


def test_spaces_of_classic_gym() -> None:
    low, high = np.zeros(2, np.float32), np.ones(2, np.float32)
    box = classic("Box", low=low, high=high, shape=(2,), dtype=np.dtype(np.float32))
    discrete = classic("Discrete", n=4, dtype=np.dtype(np.int64))
    multi = classic("MultiDiscrete", nvec=np.array([2, 3]), dtype=np.dtype(np.int64))
    whole = classic("Tuple", spaces=[classic("Dict", spaces={"b": box, "n": discrete}), multi])
    assert from_gymnasium_space(whole) == spaces.Tuple(
        (
            spaces.Dict({"b": spaces.Box(0, 1, (2,)), "n": spaces.Discrete(4)}),
            spaces.MultiDiscrete([2, 3]),
        )
    )


def test_a_class_that_only_shares_the_name_is_custom() -> None:
    class Box:
        low = high = np.zeros(2)

    with pytest.raises(CustomSpaceError):
        from_gymnasium_space(Box())


THEIRS = gymnasium.spaces.Discrete(3)


@pytest.mark.parametrize(
    "use",
    [
        lambda: spaces.Dict({"a": THEIRS}),
        lambda: spaces.Dict(a=THEIRS),
        lambda: spaces.Dict().__setitem__("a", THEIRS),
        lambda: spaces.Tuple([THEIRS]),
        lambda: spaces.OneOf([THEIRS]),
        lambda: spaces.Sequence(THEIRS),
        lambda: spaces.Graph(THEIRS, None),
        lambda: spaces.batch_space(THEIRS, 2),
        lambda: spaces.flatten(THEIRS, 1),
    ],
)
def test_a_space_of_gymnasiums_where_ludus_needs_its_own_names_the_conversion(use: Any) -> None:
    with pytest.raises((TypeError, NotImplementedError), match="from_gymnasium_space"):
        use()
