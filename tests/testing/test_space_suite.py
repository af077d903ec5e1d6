"""The suite passes on every space of Ludus and fails on spaces that are broken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ludus import spaces
from ludus.testing import SpaceConformance
from tests.testing.suites import failures

SPACES = {
    "box": lambda: spaces.Box(-1.0, 2.0, (2, 3), np.float32),
    "unbounded": lambda: spaces.Box(-np.inf, np.inf, (2,), np.float64),
    "bytes": lambda: spaces.Box(0, 255, (3, 2), np.uint8),
    "discrete": lambda: spaces.Discrete(5, start=-2),
    "multi discrete": lambda: spaces.MultiDiscrete([3, 4, 5]),
    "multi binary": lambda: spaces.MultiBinary((2, 2)),
    "text": lambda: spaces.Text(5),
    "dict": lambda: spaces.Dict({"b": spaces.Discrete(3), "a": spaces.Box(0, 1, (2,))}),
    "tuple": lambda: spaces.Tuple((spaces.Discrete(3), spaces.MultiBinary(2))),
    "sequence": lambda: spaces.Sequence(spaces.Box(0, 1, (2,), np.float64)),
    "graph": lambda: spaces.Graph(spaces.Box(0, 1, (2,)), spaces.Discrete(3)),
    "one of": lambda: spaces.OneOf((spaces.Discrete(3), spaces.Box(0, 1, (2,)))),
}


STRUCTURED = {"text", "dict", "tuple", "sequence", "graph", "one of"}
CASES = [
    (name, test)
    for name in SPACES
    for test in dir(SpaceConformance)
    if test.startswith("test_") and not (test == "test_shape_and_dtype" and name in STRUCTURED)
]


@pytest.mark.parametrize(("name", "test"), CASES)
def test_spaces_of_ludus(name: str, test: str) -> None:
    class Suite(SpaceConformance):
        def make_space(self) -> Any:
            return SPACES[name]()

    check = getattr(Suite(), test)
    check()


class _SamplesOutside(spaces.Discrete):
    def sample(self, *args: Any, **kwargs: Any) -> Any:
        return np.int64(self.n + self.start)


class _ForgetsItsSeed(spaces.Discrete):
    def seed(self, seed: Any = None) -> Any:
        return 0


class _EqualsEverything(spaces.Discrete):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class _ContainsEverything(spaces.Discrete):
    def contains(self, x: Any) -> bool:
        return True


class _LosesNumbersInJson(spaces.Discrete):
    def to_jsonable(self, sample_n: Any) -> Any:
        return [0 for _ in sample_n]


class _PicklesAsAnother(spaces.Discrete):
    def __reduce__(self) -> Any:
        return spaces.Discrete, (int(self.n) + 1,)


class _OtherDtype(spaces.Discrete):
    def sample(self, *args: Any, **kwargs: Any) -> Any:
        return np.int32(super().sample())


@pytest.mark.parametrize(
    ("kind", "test"),
    [
        (_SamplesOutside, "test_samples_are_members"),
        (_ForgetsItsSeed, "test_seed_decides_the_samples"),
        (_EqualsEverything, "test_equality"),
        (_ContainsEverything, "test_foreign_objects_are_not_members"),
        (_LosesNumbersInJson, "test_json_round_trip"),
        (_PicklesAsAnother, "test_pickle"),
        (_PicklesAsAnother, "test_copies_are_equal_and_independent"),
        (_OtherDtype, "test_shape_and_dtype"),
    ],
)
def test_broken_spaces_fail(kind: type[spaces.Discrete], test: str) -> None:
    class Suite(SpaceConformance):
        def make_space(self) -> Any:
            return kind(50)

    assert test in failures(Suite)


def test_spaces_without_shape_and_dtype_are_left_out() -> None:
    class Suite(SpaceConformance):
        batchable = False

        def make_space(self) -> Any:
            return spaces.Text(5)

    expected = dict.fromkeys(["test_batch_round_trip", "test_shape_and_dtype"], "skipped")
    assert failures(Suite) == expected


def test_make_space_is_needed() -> None:
    with pytest.raises(NotImplementedError, match="must implement make_space"):
        SpaceConformance().make_space()
