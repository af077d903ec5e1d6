"""A damaged state is refused or does no harm, and the environment can be used again."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ludus
from ludus.errors import DependencyNotInstalled, StateError
from tests.reference.twins import assert_same

IDS = (
    "CartPole-v1",
    "FrozenLake-v1",
    "Copy-v0",
    "LunarLanderContinuous-v3",
    "BipedalWalker-v3",
    "Hopper-v5",
    "InvertedDoublePendulum-v5",
    "ConnectFour-v1",
    "Backgammon-v1",
)
GONE = object()
SCALARS = (None, "x", -1, 2**70, float("nan"), [1], {}, GONE)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each part of a state."""
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else ()
    for key, part in inner:
        yield from leaves(part, (*path, key))


def damages(value: Any) -> Iterator[Any]:
    """Yield what may have become of a part."""
    yield from SCALARS
    if isinstance(value, np.ndarray) and value.size:
        yield value.reshape(-1)[:-1]
        yield value.astype(object)
        yield np.zeros((2, 3, 5))
        if value.dtype.kind == "f":
            yield np.full_like(value, np.nan)
            yield np.full_like(value, 1e300)


def damaged(state: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """Return a copy of a state with another part."""
    state = copy.deepcopy(state)
    inner: Any = state
    for key in path[:-1]:
        inner = inner[key]
    if value is GONE:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return state


def part(state: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        state = state[key]
    return state


def played(env: Any, steps: int) -> list[Any]:
    env.action_space.seed(7)
    return [env.step(env.action_space.sample()) for _ in range(steps)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
@pytest.mark.parametrize("env_id", IDS)
def test_damage_is_refused_or_harmless(env_id: str, many: bool, tmp_path: Any, monkeypatch: Any):
    # Where the engine of the robots leaves its warnings.
    monkeypatch.chdir(tmp_path)
    try:
        env: Any = ludus.make_vec(env_id, 2) if many else ludus.make(env_id).unwrapped
        other: Any = ludus.make_vec(env_id, 2) if many else ludus.make(env_id).unwrapped
    except DependencyNotInstalled as problem:
        pytest.skip(str(problem))
    with env, other:
        env.reset(seed=1)
        played(env, 3)
        state = env.get_state()
        first = other.reset(seed=2)
        expected = played(other, 3)
        refused = 0
        for path in leaves(state):
            for value in damages(part(state, path)):
                try:
                    other.set_state(damaged(state, path, value))
                except StateError:
                    refused += 1
            assert_same(other.reset(seed=2), first)
            assert_same(played(other, 3), expected)
        assert refused > 10
