from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ludus.checking import CheckFailed, check_environments_match
from ludus.spaces import Box
from tests.checking.broken_envs import Good, overriding

Build = Callable[[], Any]


def _after(step: int, **members: Callable[[Any], Any]) -> Build:
    """Return a factory of environments whose members differ from ``Good`` from ``step`` on."""
    return overriding(
        **{
            name: lambda self, name=name, other=other: (
                other(self) if self.steps >= step else getattr(Good, name)(self)
            )
            for name, other in members.items()
        }
    )


def test_equal_environments_match() -> None:
    check_environments_match(Good("rgb_array"), Good("rgb_array"), num_steps=40, seed=3)


@pytest.mark.parametrize(
    ("build", "skip", "words"),
    [
        (
            _after(0, observe=lambda s: s.position + 1),
            "skip_obs",
            "resetting observation is not eq",
        ),
        (_after(2, observe=lambda s: s.position + 1), "skip_obs", "observation.*in step = 1"),
        (_after(3, reward=lambda s: 0.5), "skip_rew", "reward is not equivalent in step = 2"),
        (_after(4, flags=lambda s: (True, False)), "skip_terminal", "terminal.*in step = 3"),
        (_after(4, flags=lambda s: (False, True)), "skip_truncated", "truncated.*in step = 3"),
        (_after(2, info=lambda s: {"steps": -1}), None, "info is not equivalent in step = 1"),
        (_after(0, info=lambda s: {}), None, "resetting info is not equivalent"),
    ],
)
def test_differences_are_found_and_skipped(build: Build, skip: str | None, words: str) -> None:
    with pytest.raises(CheckFailed, match=words):
        check_environments_match(Good(), build(), num_steps=8)
    flag = {} if skip is None else {skip: True}
    check_environments_match(
        Good(),
        build(),
        num_steps=5,
        info_comparison="skip" if skip is None else "equivalence",
        **flag,
    )


def test_zero_steps_compare_the_reset_only() -> None:
    check_environments_match(Good(), _after(1, reward=lambda s: 9.0)(), num_steps=0)


def test_spaces_are_compared() -> None:
    other = Good()
    other.observation_space = Box(-11.0, 11.0, (2,), np.float32)
    with pytest.raises(CheckFailed, match="observation spaces differ"):
        check_environments_match(Good(), other, 1)
    check_environments_match(Good(), other, 1, skip_obs=True)
    other.action_space = Box(-2.0, 2.0, (2,), np.float32)
    with pytest.raises(AssertionError, match="action spaces differ"):
        check_environments_match(Good(), other, 1, skip_obs=True)


def test_frames_are_compared_in_array_modes() -> None:
    build = overriding(render=lambda self: np.full((4, 5, 3), self.steps, np.uint8))

    def shown(env: Any) -> Any:
        env.render_mode = "rgb_array"
        return env

    with pytest.raises(CheckFailed, match="stepping render is not equivalent in step = 0"):
        check_environments_match(Good("rgb_array"), shown(build()), 3)
    check_environments_match(Good("rgb_array"), shown(build()), 3, skip_render=True)
    check_environments_match(Good("rgb_array"), build(), 3)


@pytest.mark.parametrize(
    ("comparison", "info", "same"),
    [
        ("equivalence", {"steps": 0}, True),
        ("equivalence", {"steps": 0, "b": 1}, False),
        ("superset", {"steps": 0, "b": 1}, True),
        ("superset", {"steps": 1, "b": 1}, False),
        ("superset", {"b": 1}, False),
        ("keys-equivalence", {"steps": 9}, True),
        ("keys-equivalence", {"steps": 9, "b": 1}, False),
        ("keys-superset", {"steps": 9, "b": 1}, True),
        ("keys-superset", {"b": 1}, False),
        ("skip", {"b": 1}, True),
    ],
)
def test_info_comparisons(comparison: str, info: dict[str, Any], same: bool) -> None:
    other = overriding(info=lambda self: info)()
    if same:
        check_environments_match(Good(), other, 0, info_comparison=comparison)
    else:
        with pytest.raises(CheckFailed, match="resetting info"):
            check_environments_match(Good(), other, 0, info_comparison=comparison)


def test_unknown_info_comparison_is_refused() -> None:
    with pytest.raises(ValueError, match="'equal'; expected one of"):
        check_environments_match(Good(), Good(), 0, info_comparison="equal")
