"""Checks over whole random episodes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from ludus.checking.findings import Findings, finding
from ludus.checking.observation import outside
from ludus.checking.render import is_number
from ludus.checking.rollout import Moment, compare, play_actions, rollout
from ludus.checking.rule import Severity
from ludus.core.env import Env
from ludus.core.state import copy_plain
from ludus.core.wrapper import Wrapper
from ludus.errors import StateError
from ludus.spaces import Space

__all__ = ["aliasing_findings", "episode_findings", "state_findings"]

_SEEDS = (101, 202)


def episode_findings(env: Env[Any, Any]) -> Findings[None]:
    """Find invalid results after the first step, and incomplete seeding."""
    before = _global_generators()
    record = rollout(env, seed=_SEEDS[0])
    now = _global_generators()
    used = [name for name in before if before[name] != now[name]]
    if used:
        yield finding(
            "global-random",
            f"The environment draws from the global generator of {' and '.join(used)}, which "
            "reset(seed=...) does not seed.",
        )
    yield from _moment_findings(env.observation_space, record)
    if _nondeterministic(env):
        yield finding("episode-nondeterministic", "declared nondeterministic by its spec", "note")
        return
    # Another episode in between reveals state that survives a reset.
    rollout(env, seed=_SEEDS[1])
    difference = compare(record, rollout(env, seed=_SEEDS[0]))
    if difference is not None:
        yield finding(
            "episode-nondeterministic",
            f"Two rollouts with the same seed and actions are not equivalent: {difference}.",
        )


def _global_generators() -> dict[str, object]:
    state: Any = np.random.get_state()  # noqa: NPY002 - the state that is watched
    _, key, *position = state
    return {"random": random.getstate(), "numpy.random": (bytes(key), position)}


def _nondeterministic(env: Env[Any, Any]) -> bool:
    return env.spec is not None and env.spec.nondeterministic


def _moment_findings(space: Space[Any], record: list[Moment]) -> Findings[None]:
    reported: set[str] = set()
    for number, moment in enumerate(record):
        for rule, problem in _moment_problems(space, moment):
            if rule not in reported:
                reported.add(rule)
                yield finding(rule, f"In call {number} of a random episode {problem}")


def _moment_problems(space: Space[Any], moment: Moment) -> Iterator[tuple[str, str]]:
    problem = outside(moment.observation, space)
    if problem is not None:
        yield (
            "episode-obs-outside-space",
            f"the observation is not within the observation space{problem}",
        )
    is_step = moment.action is not None
    if is_step and not (is_number(moment.reward) and np.isfinite(moment.reward)):
        yield "episode-reward", f"the reward is {moment.reward!r}, not a finite number."
    odd = [key for key in moment.info if not isinstance(key, str)]
    if odd:
        yield "info-keys", f"the info has keys that are not strings: {odd}."


def state_findings(env: Env[Any, Any]) -> Findings[None]:
    """Check that a saved state continues the same episode."""
    if _nondeterministic(env):
        yield finding("state-round-trip", "declared nondeterministic by its spec", "note")
        return
    actions = [m.action for m in rollout(env, seed=_SEEDS[0], steps=20) if m.action is not None]
    env.reset(seed=_SEEDS[0])
    # A short episode is saved right after its reset.
    if len(play_actions(env, actions[:5])) < 5:
        env.reset(seed=_SEEDS[0])
    try:
        state = env.get_state()
        copy_plain(state)
    except StateError as problem:
        severity: Severity = "error" if _declares_state(env) else "note"
        yield finding("state-round-trip", f"The state cannot be saved: {problem}", severity)
        return
    future = play_actions(env, actions[5:])
    env.reset(seed=_SEEDS[1])
    try:
        env.set_state(state)
    except StateError as problem:
        yield finding("state-round-trip", f"set_state(get_state()) fails: {problem}")
        return
    difference = compare(future, play_actions(env, actions[5:]))
    if difference is not None:
        yield finding(
            "state-round-trip",
            f"After set_state(get_state()) the episode continues differently: {difference}.",
        )


def _declares_state(env: Env[Any, Any]) -> bool:
    layer = env
    while True:
        try:
            layer._declared_fields()
        except StateError:
            return False
        if not isinstance(layer, Wrapper):
            return True
        layer = layer.env


def aliasing_findings(env: Env[Any, Any]) -> Findings[None]:
    """Check that writing to a returned observation does not change the environment."""
    if _nondeterministic(env):
        yield finding("obs-aliasing", "declared nondeterministic by its spec", "note")
        return
    clean = rollout(env, seed=_SEEDS[0])
    difference = compare(clean, rollout(env, seed=_SEEDS[0], scribble=True))
    if difference is not None:
        yield finding(
            "obs-aliasing",
            f"Writing to returned observations changes later results: {difference}.",
        )
