"""Checks of ``reset``: signature, result, seeding."""

from __future__ import annotations

import inspect
from copy import deepcopy
from typing import Any, NamedTuple

from ludus.checking.data import data_equivalence
from ludus.checking.findings import Findings, enforce, finding
from ludus.checking.observation import outside
from ludus.checking.passive import (
    info_findings,
    reset_parameter,
    reset_result_problem,
    seed_default_findings,
)
from ludus.core.env import Env

__all__ = [
    "check_reset_options",
    "check_reset_return_info_deprecation",
    "check_reset_return_type",
    "check_reset_seed_determinism",
    "check_seed_deprecation",
    "options_findings",
    "return_info_findings",
    "return_type_findings",
    "seed_determinism_findings",
    "seed_method_findings",
]


def check_seed_deprecation(env: Env[Any, Any]) -> None:
    """Warn if the environment has a deprecated ``seed`` method."""
    enforce(seed_method_findings(env))


def check_reset_return_info_deprecation(env: Env[Any, Any]) -> None:
    """Warn if ``reset`` has a deprecated ``return_info`` parameter."""
    enforce(return_info_findings(env))


def check_reset_return_type(env: Env[Any, Any]) -> None:
    """Check that ``reset`` returns an observation of the space and a dict.

    Raises:
        CheckFailed: The result is invalid.
    """
    enforce(return_type_findings(env))


def check_reset_seed_determinism(env: Env[Any, Any]) -> None:
    """Check that ``reset(seed=...)`` seeds the environment.

    First observations are compared if the environment's spec declares it deterministic.

    Raises:
        Error: ``reset`` does not accept a seed.
        CheckFailed: The seed is rejected or ignored, or does not determine the first observation.
    """
    enforce(seed_determinism_findings(env))


def check_reset_options(env: Env[Any, Any]) -> None:
    """Check that ``reset`` accepts options.

    Raises:
        Error: It has no such parameter.
        CheckFailed: It rejects an empty dict.
    """
    enforce(options_findings(env))


def seed_method_findings(env: Env[Any, Any]) -> Findings[None]:
    """Find a deprecated ``seed`` method."""
    if callable(getattr(env, "seed", None)):
        yield finding(
            "seed-method", "Official support for the `seed` function is dropped, but there is one."
        )


def return_info_findings(env: Env[Any, Any]) -> Findings[None]:
    """Find a deprecated ``return_info`` parameter."""
    if "return_info" in inspect.signature(env.reset).parameters:
        yield finding("return-info", "`return_info` is deprecated as an argument of `reset`.")


def return_type_findings(env: Env[Any, Any]) -> Findings[None]:
    """Check one result of ``reset``."""
    result: Any = env.reset()
    if not isinstance(result, tuple) or len(result) != 2:
        yield finding("reset-result", reset_result_problem(result))
        return
    obs, info = result
    problem = outside(obs, env.observation_space)
    if problem is not None:
        yield finding(
            "obs-outside-space",
            "The first element returned by `env.reset()` is not within the observation space"
            f"{problem}",
        )
    yield from info_findings(
        info, "The second element returned by `env.reset()` was not a dictionary"
    )


def options_findings(env: Env[Any, Any]) -> Findings[None]:
    """Check that ``reset`` accepts options."""
    if reset_parameter(env, "options") is None:
        yield finding("reset-no-options", _no_parameter("options"))
        return
    try:
        env.reset(options={})
    except TypeError as problem:
        yield finding("reset-arguments", _refused("options", problem))


def _no_parameter(name: str) -> str:
    return f"The `reset` method does not provide a `{name}` or `**kwargs` keyword argument."


def _refused(name: str, problem: TypeError) -> str:
    what = {"seed": "a random seed", "options": "options"}[name]
    return (
        f"The environment cannot be reset with {what}, even though `{name}` or `**kwargs` appear "
        f"in the signature. The error was: {problem}."
    )


class _Start(NamedTuple):
    call: str
    obs: Any
    rng: Any


def _start(env: Env[Any, Any], call: str, **kwargs: Any) -> _Start:
    obs, _ = env.reset(**kwargs)
    rng = env.unwrapped._np_random
    # Copied, because the next reset may overwrite the observation.
    return _Start(call, deepcopy(obs), None if rng is None else deepcopy(rng.bit_generator.state))


def seed_determinism_findings(env: Env[Any, Any]) -> Findings[None]:
    """Check that a seed is accepted, used and determines the first observation."""
    if reset_parameter(env, "seed") is None:
        yield finding("reset-no-seed", _no_parameter("seed"))
        return
    after = "`env.reset(seed=123)` then `env.reset()`"
    try:
        first = _start(env, "`env.reset(seed=123)`", seed=123)
        second = _start(env, after)
        again = _start(env, "`env.reset(seed=123)`", seed=123)
        second_again = _start(env, after)
        other = _start(env, "`env.reset(seed=456)`", seed=456)
    except TypeError as problem:
        yield finding("reset-arguments", _refused("seed", problem))
        return
    for start in (first, second, again, second_again, other):
        problem_text = outside(start.obs, env.observation_space)
        if problem_text is not None:
            yield finding(
                "obs-outside-space",
                f"The observation returned by {start.call} is not within the observation space"
                f"{problem_text}",
            )
            break
    if env.spec is not None and not env.spec.nondeterministic:
        yield from _same_start_findings(first, again)
        yield from _same_start_findings(second, second_again)
    yield from _generator_findings(first, again, other)
    yield from seed_default_findings(env)


def _same_start_findings(start: _Start, again: _Start) -> Findings[None]:
    if not data_equivalence(start.obs, again.obs):
        yield finding(
            "reset-nondeterministic",
            f"Using {start.call} is non-deterministic as the observations are not equivalent: "
            f"{start.obs} and {again.obs}.",
        )
    elif not data_equivalence(start.obs, again.obs, exact=True):
        yield finding(
            "reset-inexact", f"Using {start.call} observations are not equal although similar."
        )


def _generator_findings(first: _Start, again: _Start, other: _Start) -> Findings[None]:
    problem = None
    if first.rng is None:
        problem = "the random number generator was not created although a seed was passed"
    elif first.rng != again.rng:
        problem = "the random generators are not same when the same seeds are passed"
    elif first.rng == other.rng:
        problem = "the random generators are not different when different seeds are passed"
    if problem is not None:
        yield finding(
            "reset-unseeded",
            f"After `env.reset(seed=...)` {problem}. Most likely the environment reset function "
            "does not call `super().reset(seed=seed)`.",
        )
