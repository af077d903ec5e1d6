"""check_env and inspect_env as wholes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from ludus.checking import CheckFailed, check_env, inspect_env
from ludus.core import Env
from ludus.errors import StateError
from ludus.spaces import Discrete
from tests.checking.broken_envs import BROKEN, Good, overriding, with_spec


def test_report_is_data_and_a_table() -> None:
    report = inspect_env(BROKEN["obs-aliasing"]())
    data = json.loads(json.dumps(report.to_dict()))
    assert data["ok"] is False
    assert [found["rule"] for found in data["findings"]] == ["render-untested", "obs-aliasing"]
    assert set(data["findings"][0]) == {"rule", "severity", "message", "hint"}
    assert [found.rule for found in report.errors] == ["obs-aliasing"]
    assert [found.rule for found in report.warnings] == ["render-untested"]
    text = str(report)
    assert text.startswith("<_Aliases instance>: 1 errors, 1 warnings")
    assert "→ Return a copy" in text


def test_report_is_frozen() -> None:
    report = inspect_env(Good())
    with pytest.raises(AttributeError):
        report.findings = ()  # type: ignore[misc]


def test_undeclared_state_is_a_note() -> None:
    report = inspect_env(overriding(state_fields=None)(), skip_render_check=True)
    assert report.findings == ()
    assert len(report.notes) == 1
    assert "state_fields" in report.notes[0]
    assert "note     state-round-trip not checked" in str(report)
    check_env(overriding(state_fields=None)(), skip_render_check=True)


def test_a_declared_state_that_cannot_be_saved_is_an_error() -> None:
    class Unsaveable(Good):
        state_fields = ("position", "steps", "handle")

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            self.handle = object()
            return super().reset(seed=seed)

    with pytest.warns(UserWarning, match=r"handle is a object.*\[state-round-trip\]"):
        check_env(Unsaveable(), skip_render_check=True)
    assert not inspect_env(Unsaveable(), skip_render_check=True).ok


def test_a_state_that_is_refused_is_an_error() -> None:
    def refuse(self: Any, state: Any) -> None:
        raise StateError("not this one")

    report = inspect_env(overriding(set_state=refuse)(), skip_render_check=True)
    assert [found.rule for found in report.errors] == ["state-round-trip"]
    assert "fails: not this one" in report.errors[0].message


def test_nondeterministic_environments_are_not_compared() -> None:
    class Noisy(Good):
        state_fields = None

        def reward(self) -> Any:
            self.calls = getattr(self, "calls", 0) + 1
            return float(self.calls)

    with pytest.raises(CheckFailed, match="not equivalent"):
        check_env(with_spec(Noisy()))
    check_env(with_spec(Noisy(), nondeterministic=True))
    report = inspect_env(with_spec(Noisy(), nondeterministic=True))
    assert report.findings == ()
    assert [note.partition(" ")[0] for note in report.notes] == [
        "episode-nondeterministic",
        "state-round-trip",
        "obs-aliasing",
    ]


def test_warn_argument_is_ignored_loudly() -> None:
    with pytest.warns(UserWarning, match="ignored"):
        check_env(Good(), True, True, True)


def test_render_and_close_checks_can_be_skipped() -> None:
    check_env(BROKEN["render-result"](), skip_render_check=True)
    check_env(BROKEN["close-twice"](), skip_close_check=True)


def test_every_render_mode_of_the_spec_is_tried() -> None:
    seen: list[str | None] = []

    class Watched(Good):
        def render(self) -> Any:
            seen.append(self.render_mode)
            return super().render()

    check_env(with_spec(Watched("ansi")))
    assert seen == ["ansi", "rgb_array", "ansi"]


def test_environments_made_for_the_check_are_closed() -> None:
    built: list[Env] = []
    closed: list[Env] = []

    class Watched(Good):
        def __init__(self, render_mode: str | None = None) -> None:
            super().__init__(render_mode)
            built.append(self)

        def close(self) -> None:
            closed.append(self)

    check_env(with_spec(Watched()))
    assert len(built) == 4
    assert {id(env) for env in built[1:]} <= {id(env) for env in closed}


def test_a_blocking_finding_ends_the_check() -> None:
    report = inspect_env(BROKEN["reset-result"]())
    assert [found.rule for found in report.findings] == ["reset-result"]


def test_the_same_problem_is_reported_once() -> None:
    report = inspect_env(BROKEN["reset-seed-default"](), skip_render_check=True)
    assert [found.rule for found in report.findings] == ["reset-seed-default"]


def test_action_masks_are_respected() -> None:
    class Masked(Good):
        """Only the action that equals the parity of the step is legal."""

        def __init__(self) -> None:
            super().__init__()
            self.action_space = Discrete(2)

        def info(self) -> Any:
            return {"action_mask": np.eye(2, dtype=np.int8)[self.steps % 2]}

        def step(self, action: Any) -> Any:
            # The single steps of other rules are taken without a look at the mask.
            if self.steps > 2 and action != self.steps % 2:
                raise ValueError("illegal move")
            return super().step(np.float32(0.0))

    check_env(Masked(), skip_render_check=True)


def test_global_generators_are_left_as_they_were_found() -> None:
    before = np.random.get_state()[1].copy()
    check_env(Good(), skip_render_check=True)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


@pytest.mark.parametrize("thing", [object(), None, Good, "CartPole-v1"])
def test_only_environments_can_be_checked(thing: Any) -> None:
    with pytest.raises(TypeError, match=r"must inherit from the ludus\.Env class"):
        check_env(thing)
    assert not inspect_env(thing).ok


def test_gymnasium_objects_get_directions() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    with pytest.raises(TypeError, match=r"incompatible with Ludus.*ludus\.interop"):
        check_env(gymnasium.Env())
    env = Good()
    env.action_space = gymnasium.spaces.Discrete(3)
    with pytest.raises(TypeError, match=r"does not inherit.*ludus\.interop"):
        check_env(env)


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_environments_of_other_frameworks_are_converted(framework: str) -> None:
    numpy_like = pytest.importorskip({"torch": "torch", "jax": "jax.numpy"}[framework])

    class Other(Good):
        metadata = {**Good.metadata, framework: True}

        def observe(self) -> Any:
            return numpy_like.asarray(super().observe())

        def step(self, action: Any) -> Any:
            assert not isinstance(action, np.ndarray)
            return super().step(np.asarray(action))

    check_env(Other(), skip_render_check=True)
