"""Many environments that run one kernel, stepped together in compiled code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ludus.core.batch_arguments import episode_over, seeds_per_env
from ludus.core.state import refusing_damage
from ludus.core.types import State
from ludus.core.vector_env import AutoresetMode
from ludus.errors import ClosedEnvironmentError, ResetNeeded, StateError
from ludus.kernel.batch_actions import BatchActions
from ludus.kernel.batch_attributes import BatchAttributes
from ludus.kernel.batch_results import BatchResults
from ludus.kernel.batch_statistics import BatchStatistics
from ludus.kernel.env import KernelEnv
from ludus.kernel.object_fields import is_known
from ludus.kernel.program import program_for
from ludus.kernel.rollout import Buffers, Trajectory
from ludus.kernel.seed_words import seed_streams, seeds_to_words
from ludus.kernel.shared_call import FAILED
from ludus.kernel.source import MODES, OVER
from ludus.kernel.storage import NO_LIMIT, Storage
from ludus.kernel.team import Board, Team
from ludus.kernel.words_rng import WORDS
from ludus.spaces import Tuple, batch_space

__all__ = ["VECTOR_ARGUMENTS", "KernelVectorEnv"]

VECTOR_ARGUMENTS = ("autoreset_mode", "copy", "max_episode_steps", "num_threads")
_MODE_NAMES = {
    AutoresetMode.NEXT_STEP: "next_step",
    AutoresetMode.SAME_STEP: "same_step",
    AutoresetMode.DISABLED: "disabled",
}


class KernelVectorEnv(BatchAttributes, BatchStatistics):
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
        self._team = Team(num_threads, num_envs)
        # Arrays in infos are made from the state, so those of a last state before its reset.
        self._same_step = self.autoreset_mode is AutoresetMode.SAME_STEP
        self._resets_here = self._same_step and hasattr(env, "info_arrays")
        self._storage = Storage(
            env.kernel,
            env.params,
            env.observation_space,
            env.action_space,
            num_envs,
            mode=MODES["by_caller" if self._resets_here else _MODE_NAMES[self.autoreset_mode]],
            limit=NO_LIMIT if max_episode_steps is None else max_episode_steps,
        )
        self._program = program_for(self._storage)
        self._table = self._program.table(self._storage)
        self._actions = BatchActions(env.action_space, self.action_space, self._storage)
        self._at_once = self._program.jit and is_known()
        self._read = BatchResults(env, self._storage, native=self._at_once)
        self._run: dict[str, Any] = {}
        self._running = False
        self._board: Board | None = None
        self._started = np.zeros(num_envs, np.bool_)
        self._seeds: Sequence[int | None] = [None] * num_envs
        self._seen = self._read.view
        # Looked up here rather than in every step.
        self._alone = self._team.size == 1
        self._tells = self._read.has_infos
        self._shares = not copy and self._seen is not None

    def _function(self, name: str) -> Any:
        """Return a function of the program, compiled when it is first needed."""
        if name not in self._run:
            self._run[name] = self._program.function(name)
        return self._run[name]

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
        # What it needs in native code is compiled along with the step.
        self._function("step")
        if seed is not None or not self._started.all():
            seeds = seeds_per_env(seed, self.num_envs)
            words, native = self._storage.U, self._program.jit
            rows = (words, seeds, mask, self._started)
            self._seeds = seed_streams(*rows, before=self._seeds, native=native)
        params = self.env.reset_params(rest or None)
        storage = self._storage
        if params is not self.env.params:
            storage.set_params(params)
        self._run_reset(chosen)
        if params is not self.env.params:
            storage.set_params(self.env.params)
        self._started |= chosen
        return self._observations(), self._read.infos(storage.X, chosen)

    def _run_reset(self, mask: Any) -> None:
        """Reset by a step that steps none, so that there is one function less to compile."""
        storage = self._storage
        mode, waiting = storage.mode, storage.D.copy()
        storage.mode = MODES["only_reset"]
        storage.D[...] = mask
        try:
            self._function("step")(self._table, 0, self.num_envs)
        finally:
            storage.mode = mode
            storage.D[...] = waiting & ~mask

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Advance every environment by its action.

        Raises:
            InvalidAction: An action is not in the action space.
            ResetNeeded: There was no reset yet.
            EpisodeOver: Autoreset is disabled and a finished environment was not reset.
            ValueError: Not one action per environment.

        After an error nothing has been stepped.
        """
        if not self._running:
            self._check_running()
        storage = self._storage
        count = self._step_at_once(actions) if self._alone else self._step_in_pieces(actions)
        if count is None:
            count = self._step_converted(actions)
        if count < 0:
            raise self._refusal(count, storage.A)
        if count and self._same_step:
            infos = self._tell_finals(count)
        else:
            infos = self._read.infos(storage.X) if self._tells else {}
        if self._shares:
            return self._seen, storage.R, storage.T, storage.C, infos
        rewards, ended, cut = storage.R.copy(), storage.T.copy(), storage.C.copy()
        return self._observations(), rewards, ended, cut, infos

    def _step_converted(self, actions: Any) -> int:
        """Step by actions that are no plain array: a list, a tensor, something to be refused."""
        given = np.asarray(actions)
        if type(actions) is not np.ndarray:
            count = self._step_at_once(given)
            if count is not None:
                return count
        self._actions.take(given)
        return int(self._step(self._table, 0, self.num_envs))

    def _step_in_pieces(self, actions: Any) -> int:
        storage = self._storage
        if self.autoreset_mode is AutoresetMode.DISABLED and storage.D.any():
            return OVER
        if self._board is not None and self._actions.is_row(actions):
            storage.give(actions)
            refused = self._board.take()
        else:
            self._actions.take(actions)
            taken = np.ascontiguousarray(storage.A)
            refused = self._function("check")(self._table, self._program.address(taken), 1)
        if refused < 0:
            return int(refused)
        if self._board is None:
            step, table = self._step, self._table
            return self._team.run(lambda first, last: step(table, first, last))
        count = self._board.step()
        if count == FAILED:
            raise self._program.compiled_error(self._board.error)
        return count

    def _refusal(self, count: int, rows: Any) -> Exception:
        """Return the error behind a step that was not made."""
        if count == OVER:
            return episode_over(np.flatnonzero(self._storage.D).tolist())
        return self._actions.refusal(rows)

    def _check_running(self) -> None:
        self._check_open()
        if not self._started.all():
            raise ResetNeeded("Call reset() before the first step().")
        self._step = self._function("step")
        self._step_at_once = self._whole_step()
        if self._same_step:
            self._tell_finals = self._whole_finals()
        if self._team.size > 1 and self._program.jit:
            self._board = Board(self._team, self._program.shared(), self._table)
        self._running = True

    def _whole_step(self) -> Callable[[Any], int | None]:
        """Return a function that makes the step if the actions are an array of a plain dtype."""
        rows = self._storage.A
        if not self._at_once or isinstance(self.single_action_space, Tuple):
            return lambda _actions: None
        apart = rows.strides[0] // rows.itemsize
        owner = (self._table, self.num_envs, rows.ctypes.data, apart)
        return self._program.batch_step(owner)  # type: ignore[no-any-return]

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError(
                f"Trying to operate on {self!r} after close(). Build a new vector environment."
            )

    def _observations(self) -> Any:
        return self._seen if self._shares else self._read.copied()

    def _whole_finals(self) -> Callable[[int], dict[str, Any]]:
        """Return a function from the number of finished episodes to the infos of such a step."""
        if self._resets_here:
            return self._reset_finished
        fill = self._read.fill_finals
        # Threads list what they have stepped, each in a part of its own.
        if self._tells or fill is None or not self._alone:
            return self._finals
        return self._read.listed_finals(fill)

    def _finals(self, _count: int) -> dict[str, Any]:
        storage, read = self._storage, self._read
        over = storage.T | storage.C
        told, final = read.infos(storage.X), read.infos(storage.XF, over)
        return told | read.finals(over, final)

    def _reset_finished(self, _count: int) -> dict[str, Any]:
        """Reset what the step finished, once the infos of its last states have been made."""
        storage = self._storage
        over = storage.T | storage.C
        storage.OF[...] = storage.O
        final = self._read.finals(over, self._read.infos(storage.X, over))
        flags = storage.B.copy()
        self._run_reset(over)
        storage.B[:2] = flags[:2]
        return {**self._read.infos(storage.X), **final}

    # --- whole rollouts -----------------------------------------------------------------------

    def rollout(
        self,
        actions: Any = None,
        *,
        policy: Any = None,
        weights: Any = (),
        steps: int | None = None,
        policy_seed: int = 0,
        out: Trajectory | None = None,
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
            out: A trajectory of an earlier rollout with as many steps, to be overwritten: saves
                the time that fresh memory costs.

        Raises:
            ValueError: Neither or both of actions and policy are given, or ``out`` does not fit.
            InvalidAction: An action is not in the action space. If it was among ``actions``,
                nothing has been stepped; a policy's steps before it have been made.
            EpisodeOver: Autoreset is disabled and an episode ended before the last step.
        """
        self._check_running()
        if (actions is None) == (policy is None):
            raise ValueError("rollout takes either actions, or a policy and steps.")
        s, program = self._storage, self._program
        inputs: tuple[Any, ...]
        if actions is not None:
            taken = self._actions.rows(actions)
            steps = len(taken)
            if self._function("check")(self._table, program.address(taken), steps) < 0:
                raise self._actions.refusal(taken)
        if steps is None or steps < 1:
            raise ValueError(f"rollout needs a positive number of steps, got {steps!r}.")
        made = Buffers.make(s, steps) if out is None else Buffers.of(out, self.env, s, steps)
        if policy is None:
            loop, inputs = self._function("rollout"), ()
        else:
            # Filled with something valid: what is not reached must not be taken for a mistake.
            taken = np.broadcast_to(s.bounds[:, :1], (steps, *s.A.shape)).astype(s.A.dtype)
            # A name of its own keeps it alive while compiled code has its address.
            words = np.empty((self.num_envs, WORDS), np.uint64)
            seeds_to_words(
                range(policy_seed, policy_seed + self.num_envs), words, native=program.jit
            )
            loop, inputs = program.rollout_policy(policy), (weights, program.address(words))
        given = (*inputs, *map(program.address, (taken, *made)), steps)
        count = self._run_loop(lambda first, last: loop(self._table, *given, first, last))
        if count < 0:
            raise self._refusal(count, taken)
        s.seen[...], s.R[...], s.B[:2] = made.observations[-1], made.rewards[-1], made.flags[:, -1]
        return made.trajectory(taken, self.env)

    def _run_loop(self, work: Callable[[int, int], int]) -> int:
        if not self._resets_here:
            return self._team.run(work)
        # Nobody asks for infos between the steps of a rollout, so the loop can reset by itself.
        self._storage.mode = MODES["same_step"]
        try:
            return self._team.run(work)
        finally:
            self._storage.mode = MODES["by_caller"]

    # --- the rest of the contract ---------------------------------------------------------------

    def get_state(self) -> State:
        """Return every environment's state and random stream as plain data."""
        self._check_open()
        return {
            "vector_env": type(self).__name__,
            "kernel": self.env.kernel.name,
            "num_envs": self.num_envs,
            "started": self._started.copy(),
            "storage": self._storage.save(),
        }

    @refusing_damage
    def set_state(self, state: State) -> None:
        """Continue from what :meth:`get_state` returned.

        Raises:
            StateError: The state belongs to another kernel or number, or is damaged.
        """
        self._check_open()
        expected = (type(self).__name__, self.env.kernel.name, self.num_envs)
        found = tuple(state.get(key) for key in ("vector_env", "kernel", "num_envs"))
        if found != expected:
            raise StateError(f"The state was taken from {found} and cannot be set on {expected}.")
        started = np.broadcast_to(np.asarray(state["started"], np.bool_), (self.num_envs,))
        self._storage.load(state["storage"], started)
        self._started[...] = started
        self._running = False

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
        self._team.close()
        self.env.close()

    @property
    def np_random_seed(self) -> tuple[int | None, ...]:
        """The seeds of the environments."""
        return tuple(self._seeds)
