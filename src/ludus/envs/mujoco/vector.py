"""Many robots at once: one call of the engine steps them all, NumPy counts for all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.core.batch import BatchEnv, Stepped
from ludus.core.batch_arguments import THREADS, BatchedSpaces
from ludus.core.finite import check_finite_batch
from ludus.core.infos import Columns
from ludus.core.state import rng_from_plain, rng_to_plain
from ludus.core.types import State
from ludus.core.vector_env import AutoresetMode
from ludus.envs.mujoco.arithmetic import Array, Fields
from ludus.envs.mujoco.batch import Batch
from ludus.envs.mujoco.robot import RobotEnv
from ludus.seeding import np_random as make_np_random

__all__ = ["MujocoVectorEnv"]

_REPLACED = (
    *("step", "reset", "reset_model", "do_simulation"),
    *("_get_obs", "_get_reset_info", "_step_mujoco_simulation"),
)


class MujocoVectorEnv(BatchEnv[Array, Any]):
    """``num_envs`` robots of one kind, simulated in the engine's threads.

    Args:
        robot: Gives model, rules and spaces, and draws the pictures.
        num_envs: How many.
        max_episode_steps: After how many steps an episode is cut off.
        autoreset_mode: When a finished robot starts its next episode.
        num_threads: How many threads; by default one for each core this process may use.

    Raises:
        DependencyNotInstalled: The engine is older than version 4.
        TypeError: The robot's class changes a method that a batch does not call.
        ValueError: Fewer than one robot or thread, or an unknown ``autoreset_mode``.
    """

    not_forkable = THREADS

    def __init__(
        self,
        robot: RobotEnv,
        num_envs: int,
        *,
        max_episode_steps: int | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        num_threads: int | None = None,
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs must be at least 1, got {num_envs}.")
        changed = [name for name in _REPLACED if _is_changed(robot, name)]
        if changed:
            raise TypeError(
                f"{type(robot).__name__} has a {changed[0]}() of its own, which a batch of the "
                'engine does not call: use vectorization_mode="sync", or change the rules '
                "(features, before, outcome, draw_state)."
            )
        if num_threads is not None and num_threads < 1:
            raise ValueError(
                f"num_threads must be at least 1, got {num_threads}; leave it out for all."
            )
        super().__init__(
            num_envs,
            BatchedSpaces.of(robot.observation_space, robot.action_space, num_envs),
            metadata=robot.metadata,
            render_mode=robot.render_mode,
            autoreset_mode=autoreset_mode,
            max_episode_steps=max_episode_steps,
        )
        self.robot = robot
        self._batch = Batch(
            robot.model,
            num_envs,
            min(num_threads or _cores(), num_envs),
            forces="cfrc_ext" in robot.reads,
        )
        names = ("qpos", "qvel", "ctrl", *robot.reads)
        self._arrays = {name: self._batch.field(name) for name in names}
        self._fields = _fields(robot, self._arrays)
        self._rngs: list[tuple[Any, Any]] = [(None, None)] * num_envs
        # Looked up here rather than in every step.
        self._ctrl = self._arrays["ctrl"]
        self._action_shape = self.action_space.shape or ()
        self._seen_shape = self.observation_space.shape or ()

    @property  # type: ignore[misc]  # one generator per robot, so none can be assigned
    def np_random(self) -> tuple[np.random.Generator, ...]:
        """The random generators of the robots."""
        return tuple(self._rng(i) for i in range(self.num_envs))

    @property
    def np_random_seed(self) -> tuple[int, ...]:
        """The seeds of the robots' random generators."""
        return tuple(self._rngs[i][1] for i, _ in enumerate(self.np_random))

    def _rng(self, number: int) -> np.random.Generator:
        if self._rngs[number][0] is None:
            self._rngs[number] = make_np_random()
        generator: np.random.Generator = self._rngs[number][0]
        return generator

    def _reset_rows(
        self, rows: Any, seeds: Sequence[int | None] | None, options: dict[str, Any] | None
    ) -> Columns:
        """Put robots near their first pose."""
        if seeds is not None:
            # All generators first: a wrong seed leaves everything as it was.
            given = [(number, seeds[number]) for number in rows.tolist()]
            fresh = {number: make_np_random(seed) for number, seed in given if seed is not None}
            for number, pair in fresh.items():
                self._rngs[number] = pair
        self._batch.reset(rows)
        all_qpos, all_qvel = self._arrays["qpos"], self._arrays["qvel"]
        for number in rows.tolist():
            all_qpos[number], all_qvel[number] = self.robot.draw_state(self._rng(number))
        self._batch.forward(rows)
        return self._columns(self.robot.reset_info(self._fields), rows)

    def _read_actions(self, actions: Any) -> npt.NDArray[Any]:
        given, shape = np.asarray(actions), self._action_shape
        if given.shape != shape:
            raise ValueError(
                f"Action dimension mismatch. Expected {shape}, found {given.shape}: give one row "
                "for each robot, with one number for each actuator."
            )
        check_finite_batch(given, self.single_action_space)
        return given

    def _step_rows(self, rows: Any, actions: npt.NDArray[Any]) -> Stepped:
        robot, fields, turned = self.robot, self._fields, actions.T
        before = robot.before(fields, turned)
        self._ctrl[...] = actions
        self._batch.step(None if rows is self._all else rows, robot.frame_skip)
        reward, ended, info = robot.outcome(fields, turned, before)
        infos = self._columns(info, rows)
        rewards, terminations = self._select(reward, rows), self._select(ended, rows)
        return rewards, terminations, np.zeros(len(rows), np.bool_), infos

    def _columns(self, info: dict[str, Any], rows: Any) -> Columns:
        columns, select = Columns(), self._select
        for key, value in info.items():
            columns[key] = select(value, rows)
        return columns

    def _select(self, value: Any, rows: Any) -> npt.NDArray[Any]:
        """Copy the entries of some robots, which lie along the last axis, or are all the same."""
        column = np.asarray(value)
        if not column.ndim:
            return np.full(len(rows), value)
        return column.T.copy() if rows is self._all else column.T.take(rows, axis=0)

    def _features(self) -> Array:
        seen: Array = np.empty(self._seen_shape)
        np.concatenate(self.robot.features(self._fields), out=seen.T)
        return seen

    def _final_observations(self, rows: Any) -> Array:
        final: Array = self._features()[rows]
        return final

    def _observe(self) -> Array:
        if self.render_mode == "human":
            self._draw(0)
        return self._features()

    def env_at(self, index: int) -> RobotEnv:
        """Return the single robot in the state of one of these, until the next call."""
        self.robot.load_physics(self._batch.state[index])
        return self.robot

    def _draw(self, number: int) -> Any:
        return self.env_at(number).render()

    def render(self) -> tuple[Any, ...]:
        """Return the frame of each robot."""
        self._check_open()
        return tuple(self._draw(number) for number in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads and close the robot that draws."""
        # Their memory goes with the batch.
        self._arrays, self._fields, self._ctrl = {}, Fields(), np.empty(0)
        self._batch.close()
        self.robot.close()

    def _identity(self) -> State:
        return {"robot": type(self.robot).__name__}

    def _save(self) -> State:
        episodes = self._episodes
        return {
            "physics": self._batch.state.copy(),
            "fields": {name: self._arrays[name].copy() for name in self.robot.reads},
            "rngs": [rng_to_plain(*pair) for pair in self._rngs],
            "elapsed": episodes.lengths,
            "over": episodes.over.copy(),
            "started": episodes.ready,
            "episodes": episodes.save(),
        }

    def _load(self, state: State) -> None:
        physics = np.asarray(state["physics"], np.float64)
        # It depends on the number of robots and on the engine's version.
        self._check_same({"physics": physics.shape}, {"physics": self._batch.state.shape})
        rngs = [rng_from_plain(plain) for _, plain in zip(self._rngs, state["rngs"], strict=True)]
        fields = {name: np.asarray(state["fields"][name]) for name in self.robot.reads}
        for name, found in fields.items():
            np.broadcast_to(found, self._arrays[name].shape)
        sums = {**state.get("episodes", {}), "lengths": state["elapsed"]}
        self._episodes.load(bool(state["started"]), state["over"], sums)
        self._batch.state[...] = physics
        for name, found in fields.items():
            self._arrays[name][...] = found
        self._rngs = rngs


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _is_changed(robot: RobotEnv, name: str) -> bool:
    return getattr(type(robot), name) is not getattr(RobotEnv, name)


def _fields(robot: RobotEnv, arrays: dict[str, Array]) -> Fields:
    """Turn arrays of all robots such that the robots lie along the last axis."""
    fields = Fields(**{name: np.moveaxis(array, 0, -1) for name, array in arrays.items()})
    robot.prepare(fields)
    return fields
