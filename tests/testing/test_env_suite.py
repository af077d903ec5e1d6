"""The suite passes on good environments and fails, in the right test, on bad ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ludus.testing import EnvConformance
from tests.checking.broken_envs import BROKEN, Good
from tests.testing.suites import failures


class TestGood(EnvConformance):
    render_modes = ("rgb_array", "ansi")

    def make(self, **kwargs: Any) -> Any:
        return Good(**kwargs)


class _SharesAcrossInstances(Good):
    shared = np.zeros(2, np.float32)

    def reset(self, **kwargs: Any) -> Any:
        self.shared[:] = 0
        return super().reset(**kwargs)

    def step(self, action: Any) -> Any:
        self.shared += np.float32(0.001)
        return super().step(action)

    def observe(self) -> Any:
        return np.clip(self.position + self.shared, -10, 10)


class _TakesAnySeed(Good):
    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return super().reset(seed=abs(seed) if isinstance(seed, int) else None)


class _StateIsLive(Good):
    def reset(self, **kwargs: Any) -> Any:
        self.__dict__.setdefault("log", []).append(0)
        return super().reset(**kwargs)

    def get_state(self) -> Any:
        return {"log": self.log}


class _CountsLife(Good):
    life = 0

    def info(self) -> Any:
        type(self).life += 1
        return {"life": self.life}


@pytest.mark.parametrize(
    ("build", "test", "words"),
    [
        (_SharesAcrossInstances, "test_instances_do_not_interfere", "another instance"),
        (_TakesAnySeed, "test_bad_seeds_are_refused", "did not raise"),
        (_StateIsLive, "test_state_is_a_copy", "lengths"),
        (_CountsLife, "test_same_seed_same_episode", "life"),
        (BROKEN["obs-aliasing"], "test_no_rule_is_broken", "obs-aliasing"),
        (BROKEN["obs-outside-space"], "test_observations_lie_in_their_space", "is outside"),
        (BROKEN["state-round-trip"], "test_state_round_trip", "state after step"),
        (BROKEN["episode-nondeterministic"], "test_seed_decides_alone", "after other episodes"),
        (BROKEN["close-twice"], "test_close_twice", "position"),
    ],
)
def test_what_is_broken_is_found(build: Any, test: str, words: str) -> None:
    class Suite(EnvConformance):
        def make(self, **kwargs: Any) -> Any:
            return build(**kwargs)

    failed = failures(Suite)
    assert words in failed[test]


def test_render_is_judged() -> None:
    class Suite(EnvConformance):
        render_modes = ("human",)

        def make(self, **kwargs: Any) -> Any:
            return Good(**kwargs)

    assert "unsupported render mode" in failures(Suite)["test_render"]


def test_what_needs_determinism_can_be_left_out() -> None:
    class Suite(EnvConformance):
        deterministic = False

        def make(self, **kwargs: Any) -> Any:
            return type("Undeclared", (Good,), {"state_fields": None})()

    assert failures(Suite) == dict.fromkeys(
        [
            "test_instances_do_not_interfere",
            "test_same_seed_same_episode",
            "test_seed_decides_alone",
            "test_state_is_a_copy",
            "test_state_round_trip",
        ],
        "skipped",
    )


def test_make_is_needed() -> None:
    with pytest.raises(NotImplementedError, match="EnvConformance must implement make"):
        EnvConformance().make()
