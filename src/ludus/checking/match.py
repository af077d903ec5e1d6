"""Comparison of two environments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.checking.data import data_equivalence
from ludus.checking.rule import CheckFailed
from ludus.core.env import Env

__all__ = ["check_environments_match"]

_INFO_COMPARISONS = ("equivalence", "superset", "keys-equivalence", "keys-superset", "skip")
_STEP_PARTS = ("observation", "reward", "terminal", "truncated", "info")


def check_environments_match(
    env_a: Env[Any, Any],
    env_b: Env[Any, Any],
    num_steps: int,
    seed: int = 0,
    skip_obs: bool = False,
    skip_rew: bool = False,
    skip_terminal: bool = False,
    skip_truncated: bool = False,
    skip_render: bool = False,
    info_comparison: str = "equivalence",
) -> None:
    """Run two environments with the same seed and actions and compare their results.

    Args:
        env_a: The first environment; actions are sampled from its action space.
        env_b: The second environment.
        num_steps: Number of steps; 0 compares a reset only.
        seed: Seed of every reset and of the actions.
        skip_obs: Do not compare observations and observation spaces.
        skip_rew: Do not compare rewards.
        skip_terminal: Do not compare the terminated flags.
        skip_truncated: Do not compare the truncated flags.
        skip_render: Do not compare frames; they are not compared either if a render mode is
            ``None`` or human.
        info_comparison: ``equivalence``: equal infos. ``superset``: the second contains the first.
            ``keys-equivalence``, ``keys-superset``: the same for the keys. ``skip``: no comparison.

    Raises:
        CheckFailed: The results differ (an ``AssertionError``); the message names the step.
        ValueError: ``info_comparison`` is invalid.

    >>> import ludus
    >>> a, b = ludus.make("CartPole-v1"), ludus.make("CartPole-v1")
    >>> check_environments_match(a, b, num_steps=100)
    """
    if info_comparison not in _INFO_COMPARISONS:
        raise ValueError(
            f"info_comparison is {info_comparison!r}; expected one of {_INFO_COMPARISONS}."
        )
    modes = (env_a.unwrapped.render_mode, env_b.unwrapped.render_mode)
    skipped = {
        "observation": skip_obs,
        "reward": skip_rew,
        "terminal": skip_terminal,
        "truncated": skip_truncated,
        "render": skip_render or None in modes or "human" in modes,
    }
    compare = _Comparison(env_a, env_b, skipped, info_comparison)
    compare.spaces()
    env_a.action_space.seed(seed)
    compare.reset(seed, "")
    for step in range(num_steps):
        where = f" in step = {step}"
        if compare.step(env_a.action_space.sample(), where):
            compare.reset(seed, where)


class _Comparison:
    """Calls two environments alike and raises :class:`CheckFailed` if they differ."""

    def __init__(
        self,
        env_a: Env[Any, Any],
        env_b: Env[Any, Any],
        skipped: dict[str, bool],
        info_comparison: str,
    ) -> None:
        self._env_a = env_a
        self._env_b = env_b
        self._skipped = skipped
        self._info_comparison = info_comparison

    def spaces(self) -> None:
        for name, skip in (("action", False), ("observation", self._skipped["observation"])):
            a, b = (getattr(env, f"{name}_space") for env in (self._env_a, self._env_b))
            if not skip and a != b:
                raise CheckFailed(f"the {name} spaces differ: {a} and {b}")

    def reset(self, seed: int, where: str) -> None:
        a, b = (env.reset(seed=seed) for env in (self._env_a, self._env_b))
        self._results("resetting", ("observation", "info"), a, b, where)

    def step(self, action: Any, where: str) -> bool:
        """Step both and return whether an episode has ended."""
        a: Any = self._env_a.step(action)
        b: Any = self._env_b.step(action)
        self._results("stepping", _STEP_PARTS, a, b, where)
        return any((*a[2:4], *b[2:4]))

    def _results(self, verb: str, names: tuple[str, ...], a: Any, b: Any, where: str) -> None:
        for name, part_a, part_b in zip(names, a, b, strict=True):
            if name == "info":
                problem = self._info_problem(part_a, part_b)
            elif self._skipped[name] or data_equivalence(part_a, part_b):
                problem = None
            else:
                problem = "is not equivalent"
            if problem is not None:
                raise CheckFailed(
                    f"{verb} {name} {problem}{where}, {name}_a = {part_a}, {name}_b = {part_b}"
                )
        if not self._skipped["render"] and not np.all(self._env_a.render() == self._env_b.render()):
            raise CheckFailed(f"{verb} render is not equivalent{where}")

    def _info_problem(self, a: dict[str, Any], b: dict[str, Any]) -> str | None:
        superset = self._info_comparison.endswith("superset")
        if self._info_comparison == "skip":
            return None
        if self._info_comparison.startswith("keys"):
            good = b.keys() >= a.keys() if superset else a.keys() == b.keys()
            return None if good else f"keys are not {'a superset' if superset else 'equivalent'}"
        if superset:
            good = all(key in b and data_equivalence(a[key], b[key]) for key in a)
            return None if good else "is not a superset"
        return None if data_equivalence(a, b) else "is not equivalent"
