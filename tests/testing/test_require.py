from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ludus.checking import CheckFailed
from ludus.testing.require import require, require_same


def test_require() -> None:
    require(True, "fine")
    with pytest.raises(CheckFailed, match="not fine"):
        require([], "not fine")


@pytest.mark.parametrize(
    "value",
    [
        1,
        None,
        "text",
        float("nan"),
        np.array([1.0, np.nan]),
        {"a": [1, (2, np.zeros(3))], "b": None},
        np.array([None, {"x": np.arange(2)}], dtype=object),
    ],
)
def test_same_data_passes(value: Any) -> None:
    assert require_same(value, value) is None


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        ({"a": 1}, {"b": 1}, "keys"),
        ({"a": 1}, 1, "a dict and a int"),
        ([1, 2], [1], "lengths 2 and 1"),
        ([1], 1, "value: "),
        (np.zeros(2), np.zeros(2, np.float32), r"float64.*float32"),
        (np.zeros(2), np.zeros(3), "shape"),
        ({"a": [0, np.zeros(2)]}, {"a": [0, np.ones(2)]}, r"\['a'\]\[1\]"),
        (None, 0, r"None \(object\) and 0"),
        ("a", None, r"'a' \(<U1\) and None"),
        (np.array([None, 1], dtype=object), np.array([None, 2], dtype=object), r"\[1\]: 1 and 2"),
        ({1}, {2}, r"\{1\} and \{2\}"),
    ],
)
def test_different_data_raises(left: Any, right: Any, words: str) -> None:
    with pytest.raises(CheckFailed, match=words):
        require_same(left, right)
