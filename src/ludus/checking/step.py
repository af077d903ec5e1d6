"""Checks of ``step``: equal results for equal seeds, new data on every call."""

from __future__ import annotations

from copy import deepcopy
from itertools import combinations
from typing import Any

from ludus.checking.data import data_equivalence, data_shares_objects
from ludus.checking.findings import Findings, enforce, finding
from ludus.core.env import Env

__all__ = [
    "check_returned_data_not_reused",
    "check_step_determinism",
    "reuse_findings",
    "step_determinism_findings",
]


def check_step_determinism(env: Env[Any, Any], seed: int = 123) -> None:
    """Check that the first step after two equal resets is the same.

    An environment whose spec declares it nondeterministic is not checked.

    Raises:
        CheckFailed: The steps differ, or truncate the episode.
        ValueError: ``step`` returns one flag instead of two.
    """
    enforce(step_determinism_findings(env, seed))


def check_returned_data_not_reused(env: Env[Any, Any], seed: int = 123) -> None:
    """Check that different calls return different observation and info objects.

    Raises:
        CheckFailed: Two results share an object; even constant arrays must be copied, because
            callers may write to them.
    """
    enforce(reuse_findings(env, seed))


def step_determinism_findings(env: Env[Any, Any], seed: int = 123) -> Findings[None]:
    """Find differences between two first steps with equal seed and action."""
    if env.spec is not None and env.spec.nondeterministic:
        return
    env.action_space.seed(seed)
    action = env.action_space.sample()
    results: list[Any] = []
    generators: list[Any] = []
    for _ in range(2):
        env.reset(seed=seed)
        # Copied, because the second step may overwrite the first result.
        results.append(deepcopy(env.step(action)))
        rng = env.unwrapped._np_random
        generators.append(None if rng is None else deepcopy(rng.bit_generator.state))
    if len(results[0]) == 4:
        yield finding(
            "step-old-api",
            "`step` returns four elements in the old step API; five are expected to unpack.",
            "error",
        )
        return
    if generators[0] is None:
        yield finding("reset-unseeded", "env.reset(seed=...) did not initialize env._np_random.")
    elif generators[0] != generators[1]:
        yield finding(
            "step-nondeterministic",
            "The `.np_random` is not in the same state after two steps with the same seed and "
            "action.",
        )
    yield from _difference_findings(*results)


_PARTS = ("observations", "rewards", "termination", "truncation", "info")


def _difference_findings(step: tuple[Any, ...], again: tuple[Any, ...]) -> Findings[None]:
    for name, value, value_again in zip(_PARTS, step, again, strict=True):
        if name == "truncation":
            if value or value_again:
                yield finding(
                    "truncated-at-once",
                    "Environment truncates after 1 step, something has gone very wrong.",
                )
        elif not data_equivalence(value, value_again, exact=name == "termination"):
            yield finding(
                "step-nondeterministic",
                f"Deterministic step {name} are not equivalent for the same seed and action: "
                f"{value} and {value_again}.",
            )
        elif not data_equivalence(value, value_again, exact=True):
            yield finding(
                "step-inexact",
                f"Step {name} are not equal although similar given the same seed and action.",
            )


def reuse_findings(env: Env[Any, Any], seed: int = 123) -> Findings[None]:
    """Find objects shared between the results of a reset, two steps and another reset."""
    env.action_space.seed(seed)
    calls: list[tuple[str, tuple[Any, Any]]] = [("reset() (call 1)", env.reset(seed=seed))]
    for number in (2, 3):
        obs, _, terminated, truncated, info = env.step(env.action_space.sample())
        calls.append((f"step() (call {number})", (obs, info)))
        if terminated or truncated:
            break
    calls.append((f"reset() (call {len(calls) + 1})", env.reset(seed=seed)))
    for kind, name in enumerate(("observations", "infos")):
        for (call_1, data_1), (call_2, data_2) in combinations(calls, 2):
            if data_shares_objects(data_1[kind], data_2[kind]):
                yield finding(
                    "data-reuse",
                    f"The {name} returned by `env.{call_1}` and `env.{call_2}` share an object, "
                    "so modifying one modifies the other.",
                )
                break
