"""A worker's block of environments: building, stepping and resetting them.

Independent of processes, so that it can be tested by plain calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ludus.core.env import Env
from ludus.core.foreign.env import as_env
from ludus.core.vector_env import AutoresetMode
from ludus.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

__all__ = ["Block", "copied_actions", "row_writer"]

Writer = Callable[[int, Any], None]


def row_writer(space: Space[Any], views: Any) -> Writer:
    """Return a function that stores an observation in a row of the views.

    Raises (the function):
        ValueError: The observation's shape is not the space's.
    """
    if isinstance(space, Dict):
        writers = {key: row_writer(part, views[key]) for key, part in space.spaces.items()}

        def write_dict(row: int, value: Any) -> None:
            for key, write in writers.items():
                write(row, value[key])

        return write_dict
    if isinstance(space, Tuple):
        parts = [row_writer(part, view) for part, view in zip(space.spaces, views, strict=True)]

        def write_tuple(row: int, value: Any) -> None:
            for write, item in zip(parts, value, strict=True):
                write(row, item)

        return write_tuple
    if isinstance(space, Discrete):
        return lambda row, value: views.__setitem__(row, value)
    shape = space.shape

    def write_array(row: int, value: Any) -> None:
        # Assignment would silently broadcast a wrong shape.
        if getattr(value, "shape", None) != shape:
            value = np.asarray(value)
            if value.shape != shape:
                raise ValueError(
                    f"The environment returned an observation of shape {value.shape}, its "
                    f"observation space has shape {shape}."
                )
        views[row] = value

    return write_array


def copied_actions(space: Space[Any], views: Any) -> Sequence[Any]:
    """Return a copy of each row's action."""
    if isinstance(space, Box | Discrete | MultiBinary | MultiDiscrete):
        return list(views.copy())
    if isinstance(space, Dict):
        columns = {key: copied_actions(part, views[key]) for key, part in space.spaces.items()}
        rows = zip(*columns.values(), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in rows]
    if isinstance(space, Tuple):
        parts = [copied_actions(part, view) for part, view in zip(space.spaces, views, strict=True)]
        return list(zip(*parts, strict=True))
    raise TypeError(f"Actions of {type(space).__name__} are not stored in arrays.")


class Block:
    """Environments ``start``, ``start + 1``, … of a vector environment.

    Args:
        env_fns: Functions that build them.
        start: Index of the first.
        mode: When finished environments are reset.
        working_on: Called with an environment's index before its code runs.
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Env]],
        start: int,
        mode: AutoresetMode,
        working_on: Callable[[int], None],
    ) -> None:
        self.start = start
        self.mode = mode
        self._working_on = working_on
        self.envs: list[Env] = []
        self._finished = [False] * len(env_fns)
        for row, env_fn in enumerate(env_fns):
            working_on(start + row)
            self.envs.append(as_env(env_fn()))

    def attach(
        self,
        rewards: Any,
        terminations: Any,
        truncations: Any,
        write_observation: Writer,
        write_final: Writer,
    ) -> None:
        """Set the arrays and functions that receive the results."""
        self._rewards = rewards
        self._terminations = terminations
        self._truncations = truncations
        self._write = write_observation
        self._write_final = write_final

    def reset(self, row: int, seed: int | None, options: dict[str, Any] | None) -> dict[str, Any]:
        """Reset one environment and return its info."""
        self._working_on(self.start + row)
        observation, info = self.envs[row].reset(seed=seed, options=options)
        self._write(row, observation)
        self._finished[row] = False
        self._terminations[row] = False
        self._truncations[row] = False
        return info

    def finish_all(self) -> None:
        """Mark every episode as over, so that in next-step mode the next step resets."""
        self._finished = [True] * len(self.envs)

    def step(self, actions: Sequence[Any]) -> list[tuple[int, dict[str, Any]]]:
        """Step every environment; return the infos that are not empty, by row."""
        infos: list[tuple[int, dict[str, Any]]] = []
        ends: list[tuple[int, bool, bool]] = []
        rewards, finished, write = self._rewards, self._finished, self._write
        resets_next = self.mode is AutoresetMode.NEXT_STEP
        for row, (env, action) in enumerate(zip(self.envs, actions, strict=True)):
            if resets_next and finished[row]:
                info = self.reset(row, None, None)
                rewards[row] = 0.0
            else:
                self._working_on(self.start + row)
                observation, reward, terminated, truncated, info = env.step(action)
                rewards[row] = reward
                finished[row] = ended = bool(terminated or truncated)
                if ended:
                    ends.append((row, terminated, truncated))
                if ended and self.mode is AutoresetMode.SAME_STEP:
                    self._write_final(row, observation)
                    info = {"final_info": info, **self.reset(row, None, None)}
                else:
                    write(row, observation)
            if info:
                infos.append((row, info))
        self._working_on(-1)
        self._terminations[:] = False
        self._truncations[:] = False
        for row, terminated, truncated in ends:
            self._terminations[row] = terminated
            self._truncations[row] = truncated
        return infos

    def get_states(self) -> list[dict[str, Any]]:
        """Return each environment's state and whether its episode is over."""
        return [
            {"env": env.get_state(), "finished": finished}
            for env, finished in zip(self.envs, self._finished, strict=True)
        ]

    def set_states(self, states: Sequence[dict[str, Any]]) -> None:
        """Undo :meth:`get_states`."""
        for env, state in zip(self.envs, states, strict=True):
            env.set_state(state["env"])
        self._finished = [bool(state["finished"]) for state in states]

    def close(self) -> None:
        """Close every environment, also if closing one of them fails."""
        problem: Exception | None = None
        for env in self.envs:
            try:
                env.close()
            except Exception as caught:  # raised again below
                problem = caught
        self.envs = []
        if problem is not None:
            raise problem
