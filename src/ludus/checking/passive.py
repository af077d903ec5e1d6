"""Passive checks: validate the results of an environment and return them unchanged.

They make no additional calls, so a wrapper can run them on the first calls of a real episode.
"""

from __future__ import annotations

import inspect
from typing import Any, SupportsFloat

import numpy as np

from ludus.checking.data import data_shares_objects
from ludus.checking.findings import Findings, enforce, finding
from ludus.checking.observation import check_obs, observation_findings
from ludus.checking.render import env_render_passive_checker, is_number
from ludus.checking.spaces import check_action_space, check_observation_space, check_space
from ludus.core.env import Env

__all__ = [
    "check_action_space",
    "check_obs",
    "check_observation_space",
    "check_space",
    "data_shares_objects",
    "env_data_reuse_passive_checker",
    "env_render_passive_checker",
    "env_reset_passive_checker",
    "env_step_passive_checker",
    "passive_reset_findings",
    "passive_step_findings",
    "reset_parameter",
    "seed_default_findings",
]


def env_reset_passive_checker(env: Env[Any, Any], **kwargs: Any) -> tuple[Any, dict[str, Any]]:
    """Reset, check the signature and the result, and return the result unchanged.

    Raises:
        CheckFailed: The info is not a dict, or the observation has the wrong structure.
    """
    result: tuple[Any, dict[str, Any]] = enforce(passive_reset_findings(env, **kwargs))
    return result


def env_step_passive_checker(
    env: Env[Any, Any], action: Any
) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
    """Step, check the result, and return it unchanged; the action is not checked.

    Raises:
        CheckFailed: The result is not a tuple of four or five elements, the info is not a dict, or
            the observation has the wrong structure.
    """
    result: tuple[Any, SupportsFloat, bool, bool, dict[str, Any]] = enforce(
        passive_step_findings(env, action)
    )
    return result


def env_data_reuse_passive_checker(
    previous_data: tuple[Any, dict[str, Any]],
    data: tuple[Any, dict[str, Any]],
    previous_source: str,
    source: str,
) -> None:
    """Warn if the ``(obs, info)`` pairs of two calls share an object.

    Args:
        previous_data: Result of the earlier call.
        data: Result of the later call.
        previous_source: Name of the earlier call, ``"reset"`` or ``"step"``.
        source: Name of the later call.
    """
    for name, before, now in zip(("observations", "infos"), previous_data, data, strict=True):
        if data_shares_objects(before, now):
            enforce(_reuse_findings(name, previous_source, source))


def _reuse_findings(name: str, previous_source: str, source: str) -> Findings[None]:
    yield finding(
        "data-reuse",
        f"The {name} returned by `{previous_source}` and the following `{source}` share an "
        "object: the first result changes after it was returned.",
        "warning",
    )


def reset_parameter(env: Env[Any, Any], name: str) -> inspect.Parameter | None:
    """Return the parameter ``name`` of ``reset``, or its ``**kwargs``, or ``None``."""
    parameters = inspect.signature(env.reset).parameters
    if name in parameters:
        return parameters[name]
    takers = (p for p in parameters.values() if p.kind is inspect.Parameter.VAR_KEYWORD)
    return next(takers, None)


def seed_default_findings(env: Env[Any, Any]) -> Findings[None]:
    """Check that the default seed of ``reset`` is ``None``."""
    seed = reset_parameter(env, "seed")
    if seed is not None and seed.name == "seed" and seed.default is not None:
        yield finding(
            "reset-seed-default",
            "The default seed argument in `Env.reset` should be `None`, otherwise every episode "
            f"is the same by default. Actual default: {seed.default!r}.",
        )


def passive_reset_findings(env: Env[Any, Any], **kwargs: Any) -> Findings[Any]:
    """Check the signature of ``reset`` and one result; return the result."""
    for name in ("seed", "options"):
        if reset_parameter(env, name) is None:
            yield finding(
                f"reset-no-{name}",
                f"`Env.reset` must accept `{name}`, its signature is "
                f"{inspect.signature(env.reset)}.",
                "warning",
            )
    yield from seed_default_findings(env)
    result: Any = env.reset(**kwargs)
    if not isinstance(result, tuple) or len(result) != 2:
        yield finding("reset-result", reset_result_problem(result), "warning")
        return result
    obs, info = result
    yield from observation_findings(obs, env.observation_space, "reset")
    yield from info_findings(
        info, "The second element returned by `env.reset()` was not a dictionary"
    )
    return result


def reset_result_problem(result: Any) -> str:
    """Return the message for a result of ``reset`` that is not a pair."""
    if not isinstance(result, tuple):
        return (
            "The result returned by `env.reset()` was not a tuple of the form `(obs, info)`. "
            f"Actual type: `{type(result)}`."
        )
    return (
        "The result returned by `env.reset()` should be `(obs, info)`: it is not a 2-tuple, "
        f"actual length: {len(result)}."
    )


def info_findings(info: Any, claim: str) -> Findings[None]:
    """Check that ``info`` is a dict; ``claim`` is the message if it is not."""
    if not isinstance(info, dict):
        yield finding("info-type", f"{claim}, actual type: {type(info)}.")


def passive_step_findings(env: Env[Any, Any], action: Any) -> Findings[Any]:
    """Check one result of ``step``; return the result."""
    result: Any = env.step(action)
    if not isinstance(result, tuple):
        yield finding(
            "step-result", f"Expects step result to be a tuple, actual type: {type(result)}."
        )
        return result
    if len(result) not in (4, 5):
        yield finding(
            "step-result",
            "Expected `Env.step` to return a four or five element tuple, actual number of "
            f"elements returned: {len(result)}.",
        )
        return result
    flags: tuple[str, ...] = ("terminated", "truncated")
    if len(result) == 4:
        flags = ("done",)
        yield finding(
            "step-old-api",
            "The environment is written in old step API, which returns one bool instead of two.",
        )
    obs, reward, *values, info = result
    for name, value in zip(flags, values, strict=True):
        if not isinstance(value, bool | np.bool_):
            yield finding(
                "done-type", f"Expects `{name}` signal to be a boolean, actual type: {type(value)}."
            )
    yield from observation_findings(obs, env.observation_space, "step")
    yield from reward_findings(reward)
    yield from info_findings(info, "The `info` returned by `step()` must be a python dictionary")
    return result


def reward_findings(reward: Any) -> Findings[None]:
    """Check that ``reward`` is a finite number."""
    if not is_number(reward):
        yield finding(
            "reward-type",
            "The reward returned by `step()` must be a float, int, np.integer or np.floating, "
            f"actual type: {type(reward)}.",
        )
    elif np.isnan(reward):
        yield finding("reward-not-finite", "The reward is a NaN value.")
    elif np.isinf(reward):
        yield finding("reward-not-finite", "The reward is an inf value.")
