"""Random rollouts of an environment that can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from ludus.checking.data import first_difference
from ludus.core.env import Env

__all__ = ["Moment", "compare", "overwrite", "play_actions", "rollout"]


class Moment(NamedTuple):
    """Result of one ``reset`` or ``step``; a reset has no reward."""

    observation: Any
    reward: Any
    terminated: Any
    truncated: Any
    info: Any
    action: Any


def rollout(
    env: Env[Any, Any], *, seed: int, steps: int = 50, scribble: bool = False
) -> list[Moment]:
    """Reset with ``seed`` and take random steps; reset again after an episode.

    Actions are sampled from a copy of the action space seeded with 0, so that all rollouts have the
    same actions. ``info["action_mask"]`` is respected.

    Args:
        env: The environment.
        seed: Seed of the first reset.
        steps: Number of steps.
        scribble: Overwrite each observation after recording it.
    """
    space = deepcopy(env.action_space)
    space.seed(0)
    record = [_reset(env, scribble, seed=seed)]
    for _ in range(steps):
        if record[-1].terminated or record[-1].truncated:
            record.append(_reset(env, scribble))
        record.append(_step(env, _sample(space, record[-1].info), scribble))
    return record


def play_actions(env: Env[Any, Any], actions: Sequence[Any]) -> list[Moment]:
    """Step with the given actions until the episode ends."""
    record = []
    for action in actions:
        record.append(_step(env, action, False))
        if record[-1].terminated or record[-1].truncated:
            break
    return record


def compare(record_1: Sequence[Moment], record_2: Sequence[Moment]) -> str | None:
    """Return a description of the first difference, infos excluded, or ``None``."""
    for i, (moment_1, moment_2) in enumerate(zip(record_1, record_2, strict=False)):
        for name in ("observation", "reward", "terminated", "truncated"):
            part_1, part_2 = getattr(moment_1, name), getattr(moment_2, name)
            path = first_difference(part_1, part_2)
            if path is not None:
                return f"{name}{path} of call {i} differs: {part_1!r} and {part_2!r}"
    if len(record_1) != len(record_2):
        return f"one has {len(record_1)} calls, the other {len(record_2)}"
    return None


def overwrite(data: Any) -> None:
    """Change every writable array in ``data`` in place."""
    if isinstance(data, dict):
        for value in data.values():
            overwrite(value)
    elif isinstance(data, tuple | list):
        for value in data:
            overwrite(value)
    elif isinstance(data, np.ndarray) and data.flags.writeable and data.dtype.kind in "fiub":
        np.copyto(data, ~data if data.dtype.kind == "b" else data + data.dtype.type(1))


def _reset(env: Env[Any, Any], scribble: bool, **kwargs: Any) -> Moment:
    obs, info = env.reset(**kwargs)
    return _recorded(Moment(obs, None, False, False, info, None), scribble)


def _step(env: Env[Any, Any], action: Any, scribble: bool) -> Moment:
    # The environment gets a copy, because it may write to the action.
    return _recorded(Moment(*env.step(deepcopy(action)), action=action), scribble)


def _recorded(moment: Moment, scribble: bool) -> Moment:
    copied = deepcopy(moment)
    if scribble:
        overwrite(moment.observation)
    return copied


def _sample(space: Any, info: Any) -> Any:
    mask = info.get("action_mask") if isinstance(info, dict) else None
    return space.sample() if mask is None else space.sample(mask)
