"""The measurements, with a clock that advances by one per look."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
import pytest

from ludus.core import AutoresetMode
from ludus.testing import (
    CounterEnv,
    ImageEnv,
    benchmark_init,
    benchmark_render,
    benchmark_step,
    benchmark_vector_step,
)
from ludus.vector.sync_vector_env import SyncVectorEnv


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    ticks = count()
    monkeypatch.setattr("ludus.testing.performance.time.time", lambda: float(next(ticks)))
    return


def test_steps_per_second() -> None:
    env = CounterEnv()
    assert benchmark_step(env, target_duration=40, seed=3) == 1.0
    assert env.np_random_seed == 3
    env.step(np.int64(0))


def test_steps_are_reproducible() -> None:
    counts = []
    for _ in range(2):
        env = CounterEnv()
        benchmark_step(env, target_duration=13, seed=5)
        counts.append((env.count, env.steps))
    assert counts[0] == counts[1]


def test_frames_per_second() -> None:
    env = ImageEnv(render_mode="rgb_array")
    env.reset()
    assert benchmark_render(env, target_duration=5) == 1.0


def test_constructions_per_second() -> None:
    closed: list[Any] = []

    class Watched(CounterEnv):
        def close(self) -> None:
            closed.append(self.np_random_seed)

    assert benchmark_init(Watched, target_duration=4, seed=9) == 1.0
    assert closed == [9] * 5


@pytest.mark.parametrize("mode", AutoresetMode)
def test_steps_of_vector_environments(mode: AutoresetMode) -> None:
    # Episodes of two steps: in next-step mode every third call resets instead.
    env = SyncVectorEnv([lambda: CounterEnv(goal=9, limit=2)] * 3, autoreset_mode=mode)
    rate = benchmark_vector_step(env, target_duration=29, seed=1)
    assert rate == pytest.approx(2.0 if mode is AutoresetMode.NEXT_STEP else 3.0)
