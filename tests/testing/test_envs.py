"""The small environments."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
from typing import Any

import numpy as np
import pytest

from ludus.errors import UnsupportedMode
from ludus.testing import CounterEnv, DictEnv, EnvConformance, FaultyEnv, ImageEnv, SlowEnv


class TestCounterEnv(EnvConformance):
    def make(self, **kwargs: Any) -> Any:
        return CounterEnv(**kwargs)


class TestDictEnv(EnvConformance):
    def make(self, **kwargs: Any) -> Any:
        return DictEnv(**kwargs)


class TestImageEnv(EnvConformance):
    render_modes = ("rgb_array", "ansi")

    def make(self, **kwargs: Any) -> Any:
        return ImageEnv(**kwargs)


class TestSlowEnv(EnvConformance):
    def make(self, **kwargs: Any) -> Any:
        return SlowEnv(seconds=0.0, **kwargs)


class TestFaultyEnvBeforeItsFault(EnvConformance):
    def make(self, **kwargs: Any) -> Any:
        return FaultyEnv(at_step=10_000)


@pytest.mark.parametrize(
    "env", [CounterEnv(goal=4), DictEnv(3), ImageEnv(4, 5, "ansi"), SlowEnv(0.5), FaultyEnv("kill")]
)
def test_environments_can_be_pickled(env: Any) -> None:
    twin = pickle.loads(pickle.dumps(env))
    assert type(twin) is type(env)
    first, _ = env.reset(seed=1)
    np.testing.assert_equal(twin.reset(seed=1)[0], first)


def test_counter_counts() -> None:
    env = CounterEnv(goal=3, limit=4)
    assert env.reset(options={"count": 1})[0] == 1
    assert env.step(np.int64(0)) == (1, 0.0, False, False, {"steps": 1})
    assert env.step(np.int64(1)) == (2, 1.0, False, False, {"steps": 2})
    assert env.step(np.int64(1)) == (3, 1.0, True, False, {"steps": 3})
    env.reset(options={"count": 0})
    assert [env.step(np.int64(0))[3] for _ in range(4)] == [False, False, False, True]


def test_image_env_refuses_unknown_modes() -> None:
    with pytest.raises(UnsupportedMode, match="human"):
        ImageEnv(render_mode="human")


def test_slow_env_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    env = SlowEnv(seconds=7.0)
    env.reset()
    env.step(np.int64(1))
    assert slept == [7.0]


def test_faulty_env_raises() -> None:
    env = FaultyEnv("raise", at_step=2)
    env.reset(seed=0)
    env.step(np.int64(0))
    with pytest.raises(RuntimeError, match="step 2"):
        env.step(np.int64(0))
    with pytest.raises(RuntimeError, match="step 0"):
        FaultyEnv(at_step=0).reset()
    with pytest.raises(ValueError, match="expected raise, exit, kill or hang"):
        FaultyEnv("explode")  # type: ignore[arg-type]


def _run(fault: str) -> None:
    env = FaultyEnv(fault, at_step=1)  # type: ignore[arg-type]
    env.reset()
    env.step(np.int64(0))


@pytest.mark.parametrize(("fault", "code"), [("exit", 3), ("kill", -signal.SIGKILL)])
def test_faulty_env_ends_its_process(fault: str, code: int) -> None:
    process = multiprocessing.get_context("fork").Process(target=_run, args=(fault,))
    process.start()
    process.join(30)
    assert process.exitcode == code


def test_faulty_env_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    class Awake(BaseException):
        pass

    naps: list[float] = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            raise Awake

    monkeypatch.setattr("time.sleep", nap)
    with pytest.raises(Awake):
        _run("hang")
