"""Helpers for tests of environments in MuJoCo, as Gymnasium has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.envs.mujoco.arithmetic import Array
from ludus.envs.mujoco.engine import import_mujoco

__all__ = ["check_mujoco_reset_state", "get_state", "set_state"]


def get_state(env: Any, state_type: Any = None) -> Array:
    """Return the state of an environment's simulation as one array.

    Args:
        env: An environment with ``model`` and ``data``, wrapped or not.
        state_type: What belongs to the state, a sum of ``mujoco.mjtState``; by default the full
            physics.
    """
    mujoco, simulation = import_mujoco(), env.unwrapped
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS if state_type is None else state_type
    state: Array = np.empty(mujoco.mj_stateSize(simulation.model, kind))
    mujoco.mj_getState(simulation.model, simulation.data, state, kind)
    return state


def set_state(env: Any, state: Array, state_type: Any = None) -> Array:
    """Put an environment's simulation into a state that :func:`get_state` returned.

    Raises:
        ValueError: The state has another size than the model's.
    """
    mujoco, simulation = import_mujoco(), env.unwrapped
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS if state_type is None else state_type
    size = mujoco.mj_stateSize(simulation.model, kind)
    if np.shape(state) != (size,):
        raise ValueError(
            f"Expected a state of {size} numbers, got shape {np.shape(state)}. Was it taken with "
            "another state_type, or from another model?"
        )
    mujoco.mj_setState(simulation.model, simulation.data, state, kind)
    return state


def check_mujoco_reset_state(env: Any, seed: int = 1234, state_type: Any = None) -> None:
    """Check that a reset with a seed leads to the same state, whatever happened before.

    Args:
        env: The environment.
        seed: The seed of the resets and of the action in between.
        state_type: What to compare; by default all that the engine's next step depends on.

    Raises:
        AssertionError: The states differ.
    """
    kind = import_mujoco().mjtState.mjSTATE_INTEGRATION if state_type is None else state_type
    env.action_space.seed(seed)
    action = env.action_space.sample()
    env.reset(seed=seed)
    first = get_state(env, kind)
    env.step(action)
    env.reset(seed=seed)
    changed = np.flatnonzero(first != get_state(env, kind))
    if changed.size:
        raise AssertionError(
            f"reset(seed={seed}) is not deterministic: numbers {changed.tolist()} of the state "
            "differ after a step in between."
        )
