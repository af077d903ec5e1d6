"""Ways in which learners use batches, as sides of races between Ludus and Gymnasium.

Ludus runs ``make_vec(id, n)``. Gymnasium runs what it has that is fastest: its own vector
environment where it has one for that use, ``SyncVectorEnv`` otherwise; wrappers are each library's
own. Both get the same actions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
from measure import Side, stepping

import ludus

__all__ = ["USES", "Use", "bar_of", "batch_side", "size_of", "suits", "transitions_per_call"]

COMPILED, ENGINE = 1024, 16
"""Environments of a batch that is compiled, and of one that an engine steps."""
ENGINES = ("box2d", "mujoco")
SLOW_PEERS = ("phys2d", "tabular")
"""Families of which Gymnasium takes a second for a step of a large batch; raced with small ones."""
STEPS = 64
"""Batches of actions, and seeds, that are used in turn."""


@dataclass(frozen=True, slots=True)
class Use:
    """How a batch is built, and what one call is."""

    name: str
    same_step: bool = False
    wrappers: tuple[str, ...] = ()
    call: str = "step"
    floats: bool = False
    """Whether it makes sense for observations of floats only."""


USES = (
    Use("next step"),
    Use("same step", same_step=True),
    Use("reset(seed)", call="reset"),
    Use("statistics", wrappers=("RecordEpisodeStatistics",)),
    Use("normalised", wrappers=("NormalizeObservation",), floats=True),
    Use("both", wrappers=("RecordEpisodeStatistics", "NormalizeObservation"), floats=True),
    Use("stored", call="store"),
)
"""``both`` are the wrappers; ``stored`` copies observations into a buffer in C order."""

_BARS = {
    ("CartPole-v1", "both"): 8.0,
    ("CartPole-v1", "stored"): 9.0,
    # Gymnasium seeds one stream for the whole batch, Ludus one for each environment.
    ("CartPole-v1", "reset(seed)"): 0.3,
    ("CartPole-v0", "reset(seed)"): 0.3,
}


def bar_of(env_id: str, use: Use) -> float:
    """Return how many times as fast as Gymnasium a batch must be at least."""
    return _BARS.get((env_id, use.name), 0.97 if ludus.spec(env_id).family in ENGINES else 1.0)


def size_of(env_id: str) -> int:
    """Return how many environments a batch has."""
    small = ludus.spec(env_id).family in ENGINES or env_id.startswith(SLOW_PEERS)
    return ENGINE if small else COMPILED


def suits(env_id: str, use: Use) -> bool:
    """Tell whether a use makes sense for an id; one that cannot be made is tried."""
    if not use.floats:
        return True
    try:
        env = ludus.make(env_id)
    except ImportError:
        return True
    space = env.observation_space
    env.close()
    return isinstance(space, ludus.spaces.Box) and space.dtype.kind == "f"


def transitions_per_call(env_id: str) -> float:
    """Return the share of environments that a step makes a transition in, if it resets the others.

    Each resets in the step after the one that ended its episode.
    """
    n, ended, made = size_of(env_id), 0, 0
    envs = ludus.make_vec(env_id, n)
    envs.reset(seed=0)
    actions, turns = _actions(env_id, n), 10 * STEPS
    for turn in range(turns):
        _, _, terminated, truncated, _ = envs.step(actions[turn % STEPS])
        made += n - ended
        ended = int((terminated | truncated).sum())
    envs.close()
    return made / (turns * n)


def batch_side(env_id: str, use: Use, library: ModuleType, *, per_call: bool = False) -> Side:
    """Return one library's side of a use; figures are per environment, or per call."""
    n, options = size_of(env_id), {}
    if library is gymnasium:
        options["vectorization_mode"] = _fastest_mode(env_id, use)
    if use.same_step:
        options["vector_kwargs"] = {"autoreset_mode": library.vector.AutoresetMode.SAME_STEP}
    envs = library.make_vec(env_id, n, **options)
    for name in use.wrappers:
        envs = getattr(library.wrappers.vector, name)(envs)
    seen, _ = envs.reset(seed=0)
    if use.call == "reset":
        return stepping(lambda seed: envs.reset(seed=seed), list(range(STEPS)), n)
    actions = _actions(env_id, n)
    if use.call == "store":
        return stepping(_storing(envs, seen), list(enumerate(actions)), n)
    return stepping(envs.step, actions, 1 if per_call else n)


def _fastest_mode(env_id: str, use: Use) -> str:
    """Return Gymnasium's fastest way; its own vector environments reset in the next step only."""
    own = gymnasium.spec(env_id).vector_entry_point is not None
    return "vector_entry_point" if own and not use.same_step else "sync"


def _actions(env_id: str, n: int) -> list[Any]:
    envs = ludus.make_vec(env_id, n)
    envs.action_space.seed(0)
    drawn = [envs.action_space.sample() for _ in range(STEPS)]
    envs.close()
    return drawn


def _storing(envs: Any, seen: Any) -> Callable[[tuple[int, Any]], None]:
    """Return a step that also stores the observations, as rollout buffers do."""

    def parts_of(observations: Any) -> tuple[Any, ...]:
        return observations if isinstance(observations, tuple) else (observations,)

    def buffer_of(part: Any) -> Any:
        dtype = np.dtype(part.dtype)
        return np.zeros((STEPS, *part.shape), np.float32 if dtype.kind == "f" else dtype)

    buffers = [buffer_of(part) for part in parts_of(seen)]

    def step(turn: tuple[int, Any]) -> None:
        at, actions = turn
        found = envs.step(actions)[0]
        for buffer, part in zip(buffers, parts_of(found), strict=True):
            buffer[at] = part

    return step
