"""Small recordings over all sorts of spaces, and what was seen while they were made."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import ludus
from ludus.record import RecordEpisodes, RecordVectorEpisodes
from ludus.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Text, Tuple
from ludus.vector import AutoresetMode, SyncVectorEnv

ODD_NAN = float(np.array([0x7FF8_0000_0000_0123], np.uint64).view(np.float64)[0])
REWARDS = (1.0, -0.0, 0.1, math.inf, ODD_NAN, -3.0)

SPACES: dict[str, Space[Any]] = {
    "box": Box(-1, 1, (3,), np.float32),
    "wide box": Box(-np.inf, np.inf, (2, 2), np.float64),
    "half box": Box(-1, 1, (2,), np.float16),
    "image": Box(0, 255, (33, 34, 3), np.uint8),
    "number": Box(0, 9, (), np.int16),
    "discrete": Discrete(5, start=-2),
    "multi discrete": MultiDiscrete([[3, 4], [5, 300]]),
    "multi binary": MultiBinary(4),
    "dict": Dict({"b": Box(0, 1, (2,), np.float64), "a": Tuple([Discrete(3), MultiBinary(2)])}),
    "tuple": Tuple([Discrete(2), Box(0, 1, (1, 2), np.float32)]),
    "text": Text(12, charset="aäb€c "),
    "dict with text": Dict({"say": Text(5), "at": Box(0, 1, (2,), np.float32)}),
}


class Shown(ludus.Env[Any, Any]):
    """Shows samples of a space for a random number of steps."""

    def __init__(self, observation_space: Space[Any], action_space: Space[Any]) -> None:
        self.observation_space, self.action_space = observation_space, action_space
        self.left = 0

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        self.left = int(self.np_random.integers(1, 6))
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        self.left -= 1
        reward = REWARDS[int(self.np_random.integers(len(REWARDS)))]
        over, late = self.left <= 0, bool(self.np_random.integers(2))
        return self.observation_space.sample(), reward, over and not late, over and late, {}


@dataclass
class Trace:
    """One episode as its player saw it."""

    observations: list[Any]
    actions: list[Any] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    flags: list[tuple[bool, bool]] = field(default_factory=list)


def record_single(env: Any, path: Path, rows: int, *, seed: int = 3, **options: Any) -> list[Trace]:
    """Play with sampled actions; return the finished episodes."""
    traces: list[Trace] = []
    with RecordEpisodes(env, path, **options) as recording:
        recording.action_space.seed(1)
        trace = Trace([recording.reset(seed=seed)[0]])
        while recording.rows < rows:
            action = recording.action_space.sample()
            observation, reward, terminated, truncated, _ = recording.step(action)
            trace.observations.append(observation)
            trace.actions.append(action)
            trace.rewards.append(float(reward))
            trace.flags.append((bool(terminated), bool(truncated)))
            if terminated or truncated:
                traces.append(trace)
                trace = Trace([recording.reset()[0]])
    return traces


def shown(observation_space: Space[Any], action_space: Space[Any] | None = None) -> Shown:
    """Return an environment of its own spaces."""
    actions = Discrete(2) if action_space is None else action_space
    return Shown(ludus.spaces.from_dict(ludus.spaces.to_dict(observation_space)), actions)


def shown_vector(observation_space: Space[Any], mode: AutoresetMode, n: int = 3) -> Any:
    return SyncVectorEnv([lambda: shown(observation_space)] * n, autoreset_mode=mode)


def record_vector(env: Any, path: Path, rows: int, **options: Any) -> None:
    """Play with sampled actions, and reset what has to be reset by hand."""
    with RecordVectorEpisodes(env, path, **options) as recording:
        recording.action_space.seed(1)
        recording.reset(seed=5)
        by_hand = env.metadata["autoreset_mode"] is AutoresetMode.DISABLED
        while recording.rows < rows:
            _, _, terminated, truncated, _ = recording.step(recording.action_space.sample())
            over = terminated | truncated
            if by_hand and over.any():
                recording.reset(options={"reset_mask": over})


def bits(value: Any) -> Iterator[Any]:
    """Yield the dtypes, shapes and bytes that a value is made of."""
    if isinstance(value, dict):
        for key in sorted(value):
            yield key
            yield from bits(value[key])
    elif isinstance(value, list | tuple):
        for part in value:
            yield from bits(part)
    elif isinstance(value, str):
        yield value
    else:
        array = np.asarray(value)
        yield array.dtype.str, array.shape, array.tobytes()


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are the same to the bit."""
    return list(bits(one)) == list(bits(other))


def at(values: Any, index: int) -> Any:
    """Return one step of arrays nested in dicts and tuples."""
    if isinstance(values, dict):
        return {key: at(part, index) for key, part in values.items()}
    if isinstance(values, tuple):
        return tuple(at(part, index) for part in values)
    return values[index]
