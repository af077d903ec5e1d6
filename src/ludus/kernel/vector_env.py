"""Many environments that run one kernel, stepped together in compiled code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from ludus.core.types import State
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.errors import ClosedEnvironmentError, EpisodeOver, InvalidAction, ResetNeeded, StateError
from ludus.kernel.env import KernelEnv
from ludus.kernel.program import program_for
from ludus.kernel.rollout import Trajectory
from ludus.kernel.source import OVER
from ludus.kernel.storage import NO_LIMIT, Storage
from ludus.kernel.words_rng import ROWS, seed_to_words
from ludus.spaces import Discrete, Tuple, batch_space

__all__ = ["VECTOR_ARGUMENTS", "KernelVectorEnv"]

VECTOR_ARGUMENTS = ("autoreset_mode", "copy", "max_episode_steps", "num_threads")
_NO_RESET = 3
_MODES = {AutoresetMode.NEXT_STEP: 0, AutoresetMode.SAME_STEP: 1, AutoresetMode.DISABLED: 2}


class KernelVectorEnv(VectorEnv[Any, Any, Any]):
    """``num_envs`` copies of a kernel's environment.

    With the same seeds it returns, step for step, what as many single environments return: time
    limit, autoreset and random streams are inside the compiled loop.

    Args:
        env: The environment to copy; it gives kernel, params, spaces and metadata.
        num_envs: How many.
        max_episode_steps: Steps after which an episode is truncated; ``None`` for never.
        autoreset_mode: When a finished environment starts its next episode.
        copy: ``False`` returns the buffers themselves, which the next step overwrites.
        num_threads: Threads that share the environments; worth it from some ten thousand on.
    """

    def __init__(
        self,
        env: KernelEnv,
        num_envs: int,
        *,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        num_threads: int = 1,
    ) -> None:
        if isinstance(num_threads, bool) or not isinstance(num_threads, int) or num_threads < 1:
            raise ValueError(f"num_threads must be a positive int, got {num_threads!r}.")
        self.env = env
        self.num_envs = num_envs
        self.copy = copy
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.max_episode_steps = max_episode_steps
        self.metadata = {**env.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = env.render_mode
        self.single_observation_space = env.observation_space
        self.single_action_space = env.action_space
        self.observation_space = batch_space(env.observation_space, num_envs)
        self.action_space = batch_space(env.action_space, num_envs)
        self._kernel = env.kernel
        self._program = program_for(self._kernel, env.observation_space, env.action_space)
        self._storage = Storage(
            self._kernel, env.params, env.observation_space, env.action_space, max(num_envs, 2)
        )
        self._mode = _MODES[self.autoreset_mode]
        self._limit = NO_LIMIT if max_episode_steps is None else max_episode_steps
        self._info_fields = self._kernel.info_fields
        self._has_arrays = hasattr(env, "info_arrays")
        self._tells = bool(self._info_fields) or self._has_arrays
        self._step: Any = self._program.step
        self._running = False
        self._started = np.zeros(num_envs, np.bool_)
        self._seeds: list[int | None] = [None] * num_envs
        bounds = [num_envs * k // num_threads for k in range(num_threads + 1)]
        self._chunks = list(pairwise(bounds))
        self._threads = ThreadPoolExecutor(num_threads) if num_threads > 1 else None
        self._writes = self._kernel.writes_observation
        self._seen = self._view(self._storage.O)
        n = num_envs
        self._results = tuple(getattr(self._storage, name)[:n] for name in ("R", "T", "C"))
        self._collect_arguments()

    def _collect_arguments(self) -> None:
        s = self._storage
        # Arrays in infos are made from the state, so those of a last state before its reset.
        self._resets_here = self._mode == 1 and self._has_arrays
        mode = _NO_RESET if self._resets_here else self._mode
        tail = (s.O, s.OF, s.R, s.T, s.C, s.D, s.X, s.XF, s.L, mode, self._limit)
        self._arguments = (s.F, s.I, s.U, s.P), tail, s.extra

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start new episodes; an int seed gives environment ``i`` the seed ``seed + i``.

        ``options["reset_mask"]`` chooses the environments to reset, the other options go to the
        environment's ``reset_params``.
        """
        from ludus.wrappers.vector.reset_mask import split_reset_mask

        self._check_open()
        mask, rest = split_reset_mask(options, self.num_envs)
        chosen = np.ones(self.num_envs, np.bool_) if mask is None else mask
        if not (chosen | self._started).all():
            raise ResetNeeded("The first reset() must be a whole one, without a reset_mask.")
        self._seed_words(seed, chosen)
        params = self.env.reset_params(rest or None)
        storage = self._storage
        if params is not self.env.params:
            storage.set_params(params)
        full = np.zeros(storage.n, np.bool_)
        full[: self.num_envs] = chosen
        storage.run_reset(self._program, full)
        if params is not self.env.params:
            storage.set_params(self.env.params)
            self._collect_arguments()
        self._started |= chosen
        return self._observations(), self._infos(storage.X, chosen)

    def _seed_words(self, seed: Any, chosen: Any) -> None:
        if seed is None:
            seeds: Sequence[int | None] = [None] * self.num_envs
        elif isinstance(seed, int):
            seeds = range(seed, seed + self.num_envs)
        elif len(seed) == self.num_envs:
            seeds = seed
        else:
            raise ValueError(
                f"If seeds are passed as a list the length must match num_envs={self.num_envs} but "
                f"got length={len(seed)}."
            )
        for index in np.flatnonzero(chosen).tolist():
            if seeds[index] is not None or not self._started[index]:
                self._seeds[index] = seed_to_words(seeds[index], self._storage.U[:, index])

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Advance every environment by its action.

        Raises:
            InvalidAction: An action is not in the action space.
            ResetNeeded: There was no reset yet.
            EpisodeOver: Autoreset is disabled and a finished environment was not reset.
            ValueError: Not one action per environment.
        """
        if not self._running:
            self._check_running()
        storage, n = self._storage, self.num_envs
        rows = self._action_rows(actions)
        head, tail, extra = self._arguments
        if self._threads is None:
            count = self._step(*head, rows, *tail, 0, n, *extra)
        else:
            count = self._in_chunks(
                lambda first, last: self._step(*head, rows, *tail, first, last, *extra)
            )
        if count < 0:
            raise self._refusal(count, rows)
        self._step = self._program.fast_step
        if self._resets_here and count:
            final = self._reset_finished()
            infos = {**self._infos(storage.X), **final}
        else:
            infos = self._infos(storage.X) if self._tells else {}
            if count and self._mode == 1:
                self._add_final(infos, self._infos(storage.XF, self._over()))
        rewards, ended, cut = self._results
        if self.copy:
            return self._observations(), rewards.copy(), ended.copy(), cut.copy(), infos
        return self._observations(), rewards, ended, cut, infos

    def _in_chunks(self, work: Callable[[int, int], int]) -> int:
        if self._threads is None:
            return work(0, self.num_envs)
        counts = list(self._threads.map(lambda chunk: work(*chunk), self._chunks))
        return min(counts) if min(counts) < 0 else sum(counts)

    def _refusal(self, count: int, rows: Any) -> Exception:
        """Return the error behind a step that was not made."""
        n = self.num_envs
        if count == OVER:
            over = np.flatnonzero(self._storage.D[:n]).tolist()
            return EpisodeOver(
                f"The episodes of environments {over} are over and autoreset is disabled. Call "
                "reset(options={'reset_mask': terminated | truncated}) before the next step."
            )
        bounds = self._storage.L
        wrong = (rows[:, :n] < bounds[:, :1]) | (rows[:, :n] > bounds[:, 1:])
        number, index = (int(found[0]) for found in np.nonzero(wrong))
        low, high = bounds[number].tolist()
        return InvalidAction(
            f"The action of environment {index} is {rows[number, index]}: expected {low} to "
            f"{high}. The action space is {self.single_action_space}."
        )

    def _check_running(self) -> None:
        self._check_open()
        if not self._started.all():
            raise ResetNeeded("Call reset() before the first step().")
        self._running = True

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError(
                f"Trying to operate on {self!r} after close(). Build a new vector environment."
            )

    # --- actions ------------------------------------------------------------------------------

    def _action_rows(self, actions: Any) -> Any:
        """Return a batch of actions as rows of shape (numbers, environments)."""
        storage, n = self._storage, self.num_envs
        if (
            type(actions) is np.ndarray
            and actions.dtype == storage.A.dtype
            and actions.shape == (n,) == storage.A.shape[1:]
            and len(storage.A) == 1
            and actions.flags.c_contiguous
        ):
            return actions.reshape(1, n)
        self._store_actions(actions, storage.A)
        return storage.A

    def _store_actions(self, actions: Any, rows: Any) -> None:
        space, n = self.single_action_space, self.num_envs
        if isinstance(space, Tuple):
            given = np.stack([np.asarray(part) for part in actions])
        else:
            given = np.asarray(actions)
            given = given.reshape(1, -1) if given.ndim == 1 and len(rows) == 1 else given.T
        if given.shape != (len(rows), n):
            raise ValueError(
                f"Expected {n} actions, one per environment, got an array of shape "
                f"{np.shape(actions)}. The action space is {self.action_space}."
            )
        if rows.dtype.kind == "i" and given.dtype.kind not in "iub":
            raise InvalidAction(
                f"Expected whole numbers, got {given.dtype}. The action space is "
                f"{self.action_space}."
            )
        rows[:, :n] = given

    # --- results ------------------------------------------------------------------------------

    def _view(self, rows: Any) -> Any:
        n, space = self.num_envs, self.single_observation_space
        if self._writes:
            return rows[:n]
        if isinstance(space, Discrete):
            return rows[0, :n]
        if isinstance(space, Tuple):
            return self._tuple_view(rows[:, :n], space)
        return rows[:, :n].T

    @staticmethod
    def _tuple_view(rows: Any, space: Tuple) -> tuple[Any, ...]:
        parts, at = [], 0
        for part in space.spaces:
            if isinstance(part, Discrete):
                parts.append(rows[at].astype(np.int64))
                at += 1
            else:
                size = int(np.prod(part.shape or (1,)))
                parts.append(rows[at : at + size].T.astype(part.dtype))
                at += size
        return tuple(parts)

    def _observations(self) -> Any:
        view = self._seen
        if isinstance(view, tuple):
            return self._view(self._storage.O)
        if not self.copy:
            return view
        # Keeps the order in memory, one row per number: copying it otherwise would take longer
        # than computing it.
        return view.copy(order="K")

    def _infos(self, rows: Any, mask: Any = None) -> dict[str, Any]:
        n = self.num_envs
        present = np.ones(n, np.bool_) if mask is None else mask.copy()
        infos: dict[str, Any] = {}
        for k, field in enumerate(self._info_fields):
            kind = {"float": np.float64, "int": np.int64, "bool": np.bool_}[field.kind]
            infos[field.name] = np.where(present, rows[k, :n], 0).astype(kind)
            infos[f"_{field.name}"] = present.copy()
        if self._has_arrays:
            columns = {name: c[:n] for name, c in self._storage.columns().items()}
            for name, values in self.env.info_arrays(self.env.params, columns).items():  # type: ignore[attr-defined]
                keep = present.reshape(-1, *[1] * (values.ndim - 1))
                infos[name] = np.where(keep, values, np.zeros(1, values.dtype))
                infos[f"_{name}"] = present.copy()
        return infos

    def _over(self) -> Any:
        return self._storage.T[: self.num_envs] | self._storage.C[: self.num_envs]

    def _reset_finished(self) -> dict[str, Any]:
        """Reset what the step finished, once the infos of its last states have been made."""
        storage, over = self._storage, self._over()
        storage.OF[...] = storage.O
        final: dict[str, Any] = {}
        self._add_final(final, self._infos(storage.X, over))
        ended, cut = storage.T.copy(), storage.C.copy()
        mask = np.zeros(storage.n, np.bool_)
        mask[: self.num_envs] = over
        storage.run_reset(self._program, mask)
        storage.T[...], storage.C[...] = ended, cut
        return final

    def _add_final(self, infos: dict[str, Any], final_info: dict[str, Any]) -> None:
        storage, n = self._storage, self.num_envs
        over = self._over()
        finals = np.full(n, None, dtype=object)
        view = self._view(storage.OF)
        for index in np.flatnonzero(over).tolist():
            if isinstance(view, tuple):
                finals[index] = tuple(part[index] for part in view)
            else:
                finals[index] = np.array(view[index])[()]
        infos["final_obs"], infos["_final_obs"] = finals, over.copy()
        infos["final_info"] = final_info
        infos["_final_info"] = over.copy()

    # --- whole rollouts -----------------------------------------------------------------------

    def rollout(
        self,
        actions: Any = None,
        *,
        policy: Any = None,
        weights: Any = (),
        steps: int | None = None,
        policy_seed: int = 0,
    ) -> Trajectory:
        """Run many steps without returning to Python in between.

        Args:
            actions: One batch of actions per step, time first; or
            policy: A function ``policy(weights, observation, rng)`` over plain numbers, compiled
                into the loop, which returns the action for one observation (a tuple of numbers, or
                an array).
            weights: What the policy gets: numbers, arrays, or tuples of them.
            steps: How many steps a policy runs.
            policy_seed: Seed of the policy's random streams, one per environment.

        Raises:
            ValueError: Neither or both of actions and policy are given.
        """
        self._check_running()
        if (actions is None) == (policy is None):
            raise ValueError("rollout takes either actions, or a policy and steps.")
        storage, n = self._storage, self.num_envs
        if actions is not None:
            steps = len(actions)
        if steps is None or steps < 1:
            raise ValueError(f"rollout needs a positive number of steps, got {steps!r}.")
        taken = np.zeros((steps, *storage.A.shape), storage.A.dtype)
        seen = np.zeros((steps, *storage.O.shape), storage.O.dtype)
        rewards = np.zeros((steps, storage.n))
        ended, cut = np.zeros((2, steps, storage.n), np.bool_)
        s = storage
        head = (s.F, s.I, s.U, s.P)
        tail = (s.OF, rewards, ended, cut, s.D, s.X, s.XF, s.L, self._mode, self._limit)
        if actions is not None:
            for row, batch in zip(taken, actions, strict=True):
                self._store_actions(batch, row)

            def run(first: int, last: int) -> int:
                return self._program.rollout(*head, taken, seen, *tail, first, last, *s.extra)  # type: ignore[no-any-return]
        else:
            words = np.zeros((ROWS, storage.n), np.uint64)
            for index in range(n):
                seed_to_words(policy_seed + index, words[:, index])
            loop = self._program.rollout_policy(policy)

            def run(first: int, last: int) -> int:
                return loop(  # type: ignore[no-any-return]
                    *head, weights, words, taken, s.O, seen, *tail, first, last, *s.extra
                )

        count = self._in_chunks(run)
        if count < 0:
            bad = taken[np.argmax(((taken < s.L[:, :1]) | (taken > s.L[:, 1:])).any((1, 2)))]
            raise self._refusal(count, bad)
        s.O[...], s.R[...], s.T[...], s.C[...] = seen[-1], rewards[-1], ended[-1], cut[-1]
        return self._trajectory(taken, seen, rewards, ended, cut)

    def _trajectory(self, taken: Any, seen: Any, rewards: Any, ended: Any, cut: Any) -> Trajectory:
        n = self.num_envs
        if self._writes:
            observations: Any = seen[:, :n]
        elif isinstance(self.single_observation_space, Discrete):
            observations = seen[:, 0, :n]
        else:
            observations = seen[:, :, :n].swapaxes(1, 2)
        discrete = isinstance(self.single_action_space, Discrete)
        actions = taken[:, 0, :n] if discrete else taken[:, :, :n].swapaxes(1, 2)
        return Trajectory(observations, actions, rewards[:, :n], ended[:, :n], cut[:, :n])

    # --- the rest of the contract ---------------------------------------------------------------

    @property
    def episode_returns(self) -> Any:
        """Each environment's return so far in its episode."""
        return self._storage.F[-2, : self.num_envs].copy()

    @property
    def episode_lengths(self) -> Any:
        """Each environment's steps so far in its episode."""
        return self._storage.I[-2, : self.num_envs].copy()

    @property
    def last_episode_returns(self) -> Any:
        """The return of each environment's last finished episode."""
        return self._storage.F[-1, : self.num_envs].copy()

    @property
    def last_episode_lengths(self) -> Any:
        """The length of each environment's last finished episode."""
        return self._storage.I[-1, : self.num_envs].copy()

    def get_state(self) -> State:
        """Return every environment's state and random stream as plain data."""
        self._check_open()
        return {
            "vector_env": type(self).__name__,
            "kernel": self._kernel.name,
            "num_envs": self.num_envs,
            "started": self._started.copy(),
            "storage": self._storage.save(),
        }

    def set_state(self, state: State) -> None:
        """Continue from what :meth:`get_state` returned."""
        self._check_open()
        expected = (type(self).__name__, self._kernel.name, self.num_envs)
        found = tuple(state.get(key) for key in ("vector_env", "kernel", "num_envs"))
        if found != expected:
            raise StateError(f"The state was taken from {found} and cannot be set on {expected}.")
        self._storage.load(state["storage"])
        self._started[...] = state["started"]

    def render(self) -> tuple[Any, ...] | None:
        """Return the frame of each environment, drawn by the single environment."""
        self._check_open()
        frames = []
        for index in range(self.num_envs):
            self.env.state = self._storage.state_at(index)
            frames.append(self.env.render())
        return tuple(frames)

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads and close the environment that draws."""
        if self._threads is not None:
            self._threads.shutdown()
        self.env.close()

    @property
    def np_random_seed(self) -> tuple[int | None, ...]:
        """The seeds of the environments."""
        return tuple(self._seeds)
