"""Many robots at once: one call of the engine steps them all, NumPy counts for all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.core.batch_arguments import episode_over, seeds_per_env
from ludus.core.env import check_state_owner
from ludus.core.finite import check_finite_batch
from ludus.core.forked import refuse_after_fork
from ludus.core.state import refusing_damage, rng_from_plain, rng_to_plain
from ludus.core.types import State
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.envs.mujoco.arithmetic import Array, Fields
from ludus.envs.mujoco.batch import Batch
from ludus.envs.mujoco.robot import RobotEnv
from ludus.errors import ClosedEnvironmentError, ResetNeeded, StateError
from ludus.seeding import np_random as make_np_random
from ludus.spaces import batch_space
from ludus.wrappers.vector.reset_mask import split_reset_mask

__all__ = ["MujocoVectorEnv"]

_REPLACED = (
    *("step", "reset", "reset_model", "do_simulation"),
    *("_get_obs", "_get_reset_info", "_step_mujoco_simulation"),
)
_Bools = npt.NDArray[np.bool_]
_Infos = dict[str, Any]


class MujocoVectorEnv(VectorEnv[Array, Any, Any]):
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
        self.robot, self.num_envs = robot, num_envs
        self.max_episode_steps = max_episode_steps
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**robot.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = robot.render_mode
        self.single_observation_space = robot.observation_space
        self.single_action_space = robot.action_space
        self.observation_space = batch_space(robot.observation_space, num_envs)
        self.action_space = batch_space(robot.action_space, num_envs)
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
        self._elapsed = np.zeros(num_envs, np.int64)
        self._over: _Bools = np.zeros(num_envs, np.bool_)
        self._started = False

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

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, _Infos]:
        """Start new episodes.

        Args:
            seed: An int gives robot ``i`` the seed ``seed + i``; a sequence, one each.
            options: ``"reset_mask"`` is a boolean array of the robots to reset.

        Raises:
            ClosedEnvironmentError: The vector environment was closed.
            ResetNeeded: A mask leaves out a robot that was never reset.
            TypeError: A seed or mask of a wrong type.
            ValueError: Not one seed or mask entry per robot.
        """
        self._check_open()
        seeds = seeds_per_env(seed, self.num_envs)
        mask, _ = split_reset_mask(options, self.num_envs)
        if mask is None:
            mask = np.ones(self.num_envs, np.bool_)
        elif not self._started and not mask.all():
            raise ResetNeeded("The first reset() must be a whole one, without a reset_mask.")
        # All generators first: a wrong seed leaves everything as it was.
        fresh = {
            number: make_np_random(seeds[number])
            for number in np.flatnonzero(mask).tolist()
            if seeds[number] is not None
        }
        for number, pair in fresh.items():
            self._rngs[number] = pair
        infos: _Infos = {}
        self._restart(mask, infos)
        self._over = self._over & ~mask
        self._started = True
        self._show()
        return self._observe(), infos

    def step(self, actions: Any) -> tuple[Array, Array, _Bools, _Bools, _Infos]:
        """Step each robot, or reset it, as :attr:`autoreset_mode` says.

        Raises:
            ClosedEnvironmentError: The vector environment was closed.
            EpisodeOver: Autoreset is disabled and a finished robot was not reset.
            Error: The engine failed.
            InvalidAction: An action holds NaN or an infinite number.
            ResetNeeded: There was no reset yet.
            ValueError: Not one action per robot, or not one number per actuator.
        """
        given = self._checked(actions)
        waiting = self._over
        running = ~waiting
        some = np.flatnonzero(running).astype(np.int32) if waiting.any() else None
        robot, fields, turned = self.robot, self._fields, given.T
        before = robot.before(fields, turned)
        self._arrays["ctrl"][...] = given
        if some is None or len(some):
            self._batch.step(some, robot.frame_skip)
        reward, ended, info = robot.outcome(fields, turned, before)
        self._elapsed += 1
        rewards = np.where(running, reward, 0.0)
        terminations = np.logical_and(running, ended)
        truncations = np.zeros(self.num_envs, np.bool_)
        if self.max_episode_steps is not None:
            truncations = running & (self._elapsed >= self.max_episode_steps)
        over = terminations | truncations
        infos: _Infos = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            self._finish(over, info, infos)
        else:
            self._over = over
            _enter(infos, info, running)
            self._restart(waiting, infos)
        self._show()
        return self._observe(), rewards, terminations, truncations, infos

    def _checked(self, actions: Any) -> npt.NDArray[Any]:
        self._check_open()
        given, shape = np.asarray(actions), self.action_space.shape
        if given.shape != shape:
            raise ValueError(
                f"Action dimension mismatch. Expected {shape}, found {given.shape}: give one row "
                "for each robot, with one number for each actuator."
            )
        if not self._started:
            raise ResetNeeded("Cannot call step() before reset(): there is no episode yet.")
        if self.autoreset_mode is AutoresetMode.DISABLED and self._over.any():
            raise episode_over(np.flatnonzero(self._over).tolist())
        check_finite_batch(given, self.single_action_space)
        return given

    def _finish(self, over: _Bools, info: _Infos, infos: _Infos) -> None:
        """Enter infos, those of finished robots as their last, and reset these robots."""
        if over.any():
            seen, last = self._observe(), np.full(self.num_envs, None, object)
            for number in np.flatnonzero(over):
                last[number] = seen[number]
            final: _Infos = {}
            _enter(final, info, over)
            infos |= {"final_obs": last, "_final_obs": over.copy()}
            infos |= {"final_info": final, "_final_info": over.copy()}
            self._restart(over, infos)
        _enter(infos, info, ~over)

    def _restart(self, mask: _Bools, infos: _Infos) -> None:
        """Put robots near their first pose."""
        if not mask.any():
            return
        ids = np.flatnonzero(mask).astype(np.int32)
        self._batch.reset(ids)
        for number in ids.tolist():
            qpos, qvel = self.robot.draw_state(self._rng(number))
            self._arrays["qpos"][number], self._arrays["qvel"][number] = qpos, qvel
        self._batch.forward(ids)
        self._elapsed[mask] = 0
        _enter(infos, self.robot.reset_info(self._fields), mask)

    def _observe(self) -> Array:
        seen: Array = np.empty(self.observation_space.shape or ())
        np.concatenate(self.robot.features(self._fields), out=seen.T)
        return seen

    def _show(self) -> None:
        """Show the first robot, if a window is asked for."""
        if self.render_mode == "human":
            self._draw(0)

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
        self._arrays, self._fields = {}, Fields()
        self._batch.close()
        self.robot.close()

    def get_state(self) -> State:
        """Return the states of all robots as plain data, random generators included."""
        self._check_open()
        return {
            "vector_env": type(self).__name__,
            "robot": type(self.robot).__name__,
            "physics": self._batch.state.copy(),
            "fields": {name: self._arrays[name].copy() for name in self.robot.reads},
            "rngs": [rng_to_plain(*pair) for pair in self._rngs],
            "elapsed": self._elapsed.copy(),
            "over": self._over.copy(),
            "started": self._started,
        }

    @refusing_damage
    def set_state(self, state: State) -> None:
        """Continue from what :meth:`get_state` returned.

        Raises:
            StateError: The state belongs to another class, robot or number of robots, or is
                damaged.
        """
        self._check_open()
        check_state_owner(self, state, "vector_env")
        physics = np.asarray(state["physics"], np.float64)
        found, own = (state["robot"], physics.shape), type(self.robot).__name__
        if found != (own, self._batch.state.shape):
            raise StateError(
                f"The state is that of {found[0]} with numbers of shape {found[1]}, this vector "
                f"environment needs {own} and {self._batch.state.shape}. Build it with the same "
                "robot, number of environments and version of mujoco."
            )
        rngs = [rng_from_plain(plain) for _, plain in zip(self._rngs, state["rngs"], strict=True)]
        elapsed = np.array(state["elapsed"], np.int64).reshape(self.num_envs)
        over = np.array(state["over"], np.bool_).reshape(self.num_envs)
        started, fields = bool(state["started"]), state["fields"]
        self._batch.state[...] = physics
        for name in self.robot.reads:
            self._arrays[name][...] = fields[name]
        self._rngs, self._elapsed, self._over, self._started = rngs, elapsed, over, started

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError(
                f"Trying to operate on {self!r} after close(). Build a new vector environment."
            )
        refuse_after_fork(self, self._batch.maker)


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


def _enter(infos: _Infos, info: _Infos, mask: _Bools) -> None:
    """Enter the infos of the robots in the mask: for each key a column, and who has one."""
    if not mask.any():
        return
    everybody, count = bool(mask.all()), len(mask)
    for key, value in info.items():
        column = np.asarray(value)
        column = column.T if column.ndim else np.full(count, value)
        if everybody:
            infos[key], infos[f"_{key}"] = np.array(column, order="C"), mask.copy()
            continue
        if key not in infos:
            infos[key], infos[f"_{key}"] = np.zeros_like(column, order="C"), np.zeros_like(mask)
        infos[key][mask] = column[mask]
        infos[f"_{key}"] |= mask
