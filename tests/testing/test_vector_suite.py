"""The suite passes on a good vector environment and fails on broken ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ludus.core import AutoresetMode
from ludus.testing import CounterEnv, DictEnv, ImageEnv, VectorEnvConformance
from ludus.vector.sync_vector_env import SyncVectorEnv
from tests.testing.suites import failures


class _Sync(VectorEnvConformance):
    env: Any = CounterEnv
    vector: Any = SyncVectorEnv

    def make(self, num_envs: int, autoreset_mode: AutoresetMode) -> Any:
        return self.vector([self.env] * num_envs, autoreset_mode=autoreset_mode)

    def make_single(self) -> Any:
        return self.env()


class TestCounters(_Sync):
    pass


class TestDicts(_Sync):
    env = DictEnv
    num_envs = 4


class TestImages(_Sync):
    env = ImageEnv
    num_envs = 2
    steps = 250


class _WrongSeeds(SyncVectorEnv):
    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return super().reset(seed=[seed] * self.num_envs if isinstance(seed, int) else seed)


class _ForgetsFinalInfo(SyncVectorEnv):
    def step(self, actions: Any) -> Any:
        *parts, infos = super().step(actions)
        infos.pop("final_info", None)
        return *parts, infos


class _SinglePrecision(SyncVectorEnv):
    def step(self, actions: Any) -> Any:
        obs, rewards, *rest = super().step(actions)
        return obs, rewards.astype(np.float32), *rest


class _ResetsAll(SyncVectorEnv):
    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        options = {k: v for k, v in (options or {}).items() if k != "reset_mask"}
        return super().reset(seed=seed, options=options)


class _Reuses(SyncVectorEnv):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, copy=False, **kwargs)


class _LosesState(SyncVectorEnv):
    def set_state(self, state: Any) -> None:
        pass


class _WrongMode(SyncVectorEnv):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.metadata["autoreset_mode"] = None


@pytest.mark.parametrize(
    ("broken", "test"),
    [
        (_WrongSeeds, "test_reset_equals_single"),
        (_ForgetsFinalInfo, "test_steps_equal_single"),
        (_SinglePrecision, "test_steps_equal_single"),
        (_ResetsAll, "test_reset_mask"),
        (_Reuses, "test_results_are_not_overwritten"),
        (_LosesState, "test_state_round_trip"),
        (_WrongMode, "test_spaces"),
    ],
)
def test_broken_vector_environments_fail(broken: type[SyncVectorEnv], test: str) -> None:
    suite = type("Suite", (_Sync,), {"vector": broken})
    assert test in failures(suite)


def test_a_suite_without_ends_of_episodes_says_so() -> None:
    suite = type("Suite", (_Sync,), {"env": lambda self=None: CounterEnv(500, 500), "steps": 5})
    assert "no episode ended" in failures(suite)["test_steps_equal_single"]


def test_modes_that_do_not_exist_are_left_out() -> None:
    suite = type("Suite", (_Sync,), {"autoreset_modes": (AutoresetMode.NEXT_STEP,)})
    assert failures(suite) == {"test_reset_mask": "skipped"}


def test_hooks_are_needed() -> None:
    with pytest.raises(NotImplementedError, match=r"make\(\)"):
        VectorEnvConformance().make(2, AutoresetMode.NEXT_STEP)
    with pytest.raises(NotImplementedError, match=r"make_single\(\)"):
        VectorEnvConformance().make_single()
