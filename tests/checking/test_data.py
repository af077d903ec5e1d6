from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ludus.checking import data_equivalence, data_shares_objects, first_difference

A = np.arange(3.0)
EQUAL: list[tuple[Any, Any]] = [
    (1, 1),
    ("a", "a"),
    (A, A.copy()),
    ({"a": A, "b": (1, [2])}, {"b": (1, [2]), "a": A.copy()}),
    (np.array([1, "x", None], dtype=object), np.array([1, "x", None], dtype=object)),
    (np.array(["a", "b"]), np.array(["a", "b"])),
    (np.zeros(0), np.zeros(0)),
]
UNEQUAL: list[tuple[Any, Any]] = [
    (1, 1.0),
    (A, A.astype(np.float32)),
    (A, A[:2]),
    (A, list(A)),
    ({"a": 1}, {"b": 1}),
    ((1, 2), (1, 2, 3)),
    ((1, 2), [1, 2]),
    (A, A + 1e-3),
    (np.array([1, None], dtype=object), np.array([2, None], dtype=object)),
    (np.array(["a"]), np.array(["b"])),
    (float("nan"), float("nan")),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
@pytest.mark.parametrize("exact", [False, True])
def test_equal_data(one: Any, other: Any, exact: bool) -> None:
    assert data_equivalence(one, other, exact) is True


@pytest.mark.parametrize(("one", "other"), UNEQUAL)
def test_unequal_data(one: Any, other: Any) -> None:
    assert data_equivalence(one, other) is False


def test_exactness_is_about_arrays() -> None:
    close = {"a": A + 1e-7}
    assert data_equivalence({"a": A}, close)
    assert not data_equivalence({"a": A}, close, exact=True)


def test_shared_objects() -> None:
    info: dict[str, Any] = {}
    assert data_shares_objects(A, A)
    assert data_shares_objects(A, A[:2])
    assert data_shares_objects({"x": (1, A)}, {"x": (2, A[1:])})
    assert data_shares_objects(info, info)
    assert data_shares_objects({"a": info}, {"a": info, "b": 1})
    boxed = np.array([A, None], dtype=object)
    assert data_shares_objects(boxed, boxed)
    assert data_shares_objects(boxed, np.array([A, 1], dtype=object))


def test_what_does_not_count_as_shared() -> None:
    shared = [1, 2]
    assert not data_shares_objects(A, A.copy())
    assert not data_shares_objects(A[:1], A[1:])
    assert not data_shares_objects(5, 5)
    assert not data_shares_objects("a", "a")
    assert not data_shares_objects(shared, shared)
    assert not data_shares_objects({}, {})
    assert not data_shares_objects((A,), A)


def test_first_difference_leads_to_the_place() -> None:
    one = {"a": (1, [2, A]), "b": 1}
    assert first_difference(one, one) is None
    assert first_difference(one, {"a": (1, [2, A + 1]), "b": 1}) == "['a'][1][1]"
    assert first_difference(one, {"a": (1, [2]), "b": 1}) == "['a'][1]"
    assert first_difference(one, {"a": (1, [2, A])}) == ""
    assert first_difference(1, 2) == ""
    assert first_difference(A, A.astype(int)) == ""


def test_first_difference_is_lenient_where_it_should_be() -> None:
    assert first_difference(float("nan"), np.float64("nan")) is None
    assert first_difference(3, np.int64(3)) is None
    assert first_difference(object(), object()) is None
    assert first_difference(A, A + 1e-9) is None
    assert first_difference("a", "b") == ""
    assert first_difference(None, None) is None
    assert first_difference({1}, {2}) == ""
