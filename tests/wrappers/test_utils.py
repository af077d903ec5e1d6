from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ludus.errors import CustomSpaceError, StateError
from ludus.spaces import Box, Discrete, Space
from ludus.wrappers.utils import RunningMeanStd, create_zero_array, rescale_box


def test_statistics_of_batches_are_those_of_all_samples() -> None:
    samples = np.random.default_rng(1).normal(3, 2, (1000, 4))
    statistics = RunningMeanStd(epsilon=1e-12, shape=(4,))
    for batch in np.array_split(samples, 7):
        statistics.update(batch)
    np.testing.assert_allclose(statistics.mean, samples.mean(0))
    np.testing.assert_allclose(statistics.var, samples.var(0))
    assert statistics.count == pytest.approx(1000)


def test_statistics_state() -> None:
    statistics = RunningMeanStd(shape=(2,))
    statistics.update(np.ones((3, 2)))
    state = statistics.get_state()
    copy = RunningMeanStd(shape=(2,))
    copy.set_state(state)
    copy.update(np.zeros((3, 2)))
    assert statistics.count != copy.count
    assert state["mean"].tolist() == statistics.mean.tolist()
    with pytest.raises(StateError, match="mean"):
        copy.set_state({"mean": 1})


def test_zero_of_a_custom_space() -> None:
    class Colour(Space[str]):
        pass

    with pytest.raises(CustomSpaceError, match="register"):
        create_zero_array(Colour())
    with pytest.raises(TypeError, match="takes a Space"):
        create_zero_array("colour")  # type: ignore[arg-type]
    create_zero_array.register(Colour)(lambda space: "black")
    assert create_zero_array(Colour()) == "black"


def test_rescaling_there_and_back() -> None:
    box, forward, backward = rescale_box(Box(-1, 1, (2,), np.float64), 0, np.array([10.0, 20.0]))
    assert box == Box(np.zeros(2), np.array([10.0, 20.0]), dtype=np.float64)
    assert forward(np.array([0.0, 0.5])).tolist() == [5, 15]
    assert backward(np.array([5.0, 15.0])).tolist() == [0, 0.5]


@pytest.mark.parametrize(
    ("box", "low", "high", "error"),
    [
        (Discrete(2), 0, 1, TypeError),
        (Box(-1, 1, (2,)), None, 1, TypeError),
        (Box(-1, 1, (2,)), 0, np.ones(3), ValueError),
        (Box(-1, np.inf, (2,)), 0, 1, ValueError),
        (Box(-1, 1, (2,)), 3, 1, ValueError),
    ],
)
def test_bad_rescaling(box: Any, low: Any, high: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        rescale_box(box, low, high)
