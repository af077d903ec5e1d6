from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ludus.wrappers.vector import DictInfoToList, VectorListInfo
from tests.wrappers.vector.support import NOOP, Scripted, twins


def as_list(infos: Any) -> Any:
    inner = Scripted()
    inner.reset_infos = infos
    return DictInfoToList(inner).reset()[1]


def test_masks_choose_who_has_a_key() -> None:
    rows = as_list(
        {
            "a": np.array([1, 2]),
            "_a": np.array([True, False]),
            "b": np.array([None, "x"], dtype=object),
            "_b": np.array([False, True]),
            "c": np.array([[1, 2], [3, 4]]),
        }
    )
    assert [sorted(row) for row in rows] == [["a", "c"], ["b", "c"]]
    assert type(rows[0]["a"]) is np.int64
    assert rows[1]["b"] == "x"
    assert rows[1]["c"].tolist() == [3, 4]


def test_nested_dicts() -> None:
    rows = as_list(
        {
            "e": {"r": np.array([1.0, 2.0]), "_r": np.array([True, False])},
            "_e": np.array([True, False]),
            "f": {"s": np.array([5, 6])},
        }
    )
    assert rows == [{"e": {"r": 1.0}, "f": {"s": 5}}, {"f": {"s": 6}}]


def test_no_infos() -> None:
    assert as_list({}) == [{}, {}]


def test_steps_and_classic_name() -> None:
    assert VectorListInfo is DictInfoToList
    envs = DictInfoToList(twins())
    envs.reset(seed=0)
    infos = envs.step(np.zeros(3, np.int64))[4]
    assert [info["count"] for info in infos] == [1, 1, 1]


@pytest.mark.parametrize(
    "infos",
    [
        None,
        [{}, {}],
        {"a": [1, 2]},
        {"a": np.zeros(3)},
        {"a": np.zeros(2), "_a": np.ones(1, bool)},
        {"a": {"b": 3}},
    ],
)
def test_other_layouts_are_refused(infos: Any) -> None:
    with pytest.raises(AssertionError):
        as_list(infos)
    envs = DictInfoToList(Scripted([(np.zeros(2), [0, 0], infos)]))
    with pytest.raises(TypeError):
        envs.step(NOOP)
