"""Vector environment of a kernel: all environments are stepped in one compiled loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ludus.core.batch_arguments import BatchedSpaces, episode_over, seeds_per_env
from ludus.core.types import State
from ludus.core.vector_env import AutoresetMode
from ludus.kernel.batch.actions import BatchActions
from ludus.kernel.batch.attributes import BatchAttributes
from ludus.kernel.batch.results import BatchResults
from ludus.kernel.batch.seeds import seed_streams, seeds_to_words
from ludus.kernel.batch.statistics import BatchStatistics
from ludus.kernel.batch.threads import Board, Team
from ludus.kernel.driver import FAILED, MODES, OVER
from ludus.kernel.env import KernelEnv
from ludus.kernel.generator import WORDS
from ludus.kernel.native.jit import checked_mode
from ludus.kernel.program import Program, compiled_program_for
from ludus.kernel.storage import NO_LIMIT, Storage
from ludus.kernel.tiers import Tier
from ludus.spaces import Tuple

if TYPE_CHECKING:
    from ludus.kernel.rollout import Trajectory

__all__ = ["VECTOR_ARGUMENTS", "KernelVectorEnv"]

VECTOR_ARGUMENTS = ("autoreset_mode", "copy", "max_episode_steps", "num_threads")
_MODE_NAMES = {
    AutoresetMode.NEXT_STEP: "next_step",
    AutoresetMode.SAME_STEP: "same_step",
    AutoresetMode.DISABLED: "disabled",
}


class KernelVectorEnv(BatchAttributes, BatchStatistics):
    """``num_envs`` copies of a kernel's environment.

    With the same seeds it returns the same results as single environments. Time limit, autoreset
    and random generators are part of the compiled loop.

    Args:
        env: The environment to copy: its kernel, params, spaces and metadata are used.
        num_envs: How many.
        max_episode_steps: Steps after which an episode is truncated; ``None`` for never.
        autoreset_mode: When a finished environment starts its next episode.
        copy: ``False`` returns the buffers themselves, which the next step overwrites.
        num_threads: Threads that share the environments; useful from some ten thousand on.
        compile: ``"wait"`` for compiled code, ``"background"`` or ``"never"``; by default the value
            of the environment variable ``LUDUS_COMPILE``.

    Example:
        >>> envs = ludus.make_vec("CartPole-v1", 3)
        >>> _ = envs.reset(seed=0)
        >>> trajectory = envs.unwrapped.rollout(np.zeros((5, 3), int))
        >>> trajectory.observations.shape, trajectory.rewards.shape
        ((5, 3, 4), (5, 3))
    """

    resets_itself = frozenset(AutoresetMode)
    # The compiled loop counts episodes.
    counts_episodes = False

    def __init__(
        self,
        env: KernelEnv,
        num_envs: int,
        *,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        num_threads: int = 1,
        compile: str | None = None,
    ) -> None:
        super().__init__(
            num_envs,
            BatchedSpaces.of(env.observation_space, env.action_space, num_envs),
            metadata=env.metadata,
            render_mode=env.render_mode,
            autoreset_mode=autoreset_mode,
        )
        self.env = env
        self.copy = copy
        self.max_episode_steps = max_episode_steps
        self._team = Team(num_threads, num_envs)
        self._same_step = self.autoreset_mode is AutoresetMode.SAME_STEP
        self._storage = Storage(
            env.kernel,
            env.params,
            env.observation_space,
            env.action_space,
            num_envs,
            mode=MODES[_MODE_NAMES[self.autoreset_mode]],
            limit=NO_LIMIT if max_episode_steps is None else max_episode_steps,
        )
        mode = None if compile is None else checked_mode(compile, "compile")
        names = ("step",) if self._team.size == 1 else ("step", "check", "take")
        self._tier = Tier(self._storage, names, mode=mode)
        self._program = self._tier.program
        self._table = self._program.table(self._storage)
        self._actions = BatchActions(env.action_space, self.action_space, self._storage)
        self._at_once = self._program.has_builtins
        self._read = BatchResults(env, self._storage, native=self._at_once)
        self._run: dict[str, Any] = {}
        self._running = False
        self._board: Board | None = None
        self._started = self._episodes.started
        self._seeds: Sequence[int | None] = [None] * num_envs
        self._seen = self._read.view
        # Looked up here rather than in every step.
        self._alone = self._team.size == 1
        self._tells = self._read.has_infos
        self._shares = not copy and self._seen is not None

    def _function(self, name: str) -> Any:
        """Return a function of the program, compiled when it is first needed."""
        if name not in self._run:
            function = self._program.function(name)
            self._run[name] = function if self._tier.is_final else self._tier.timed(function)
        return self._run[name]

    def _use(self, program: Program) -> None:
        """Switch to another program over the same storage."""
        self._program, self._table = program, program.table(self._storage)
        self._at_once = program.has_builtins
        if self._at_once:
            self._read.use_native()
        self._run, self._board, self._running = {}, None, False

    def compile(self) -> None:
        """Wait until steps run in compiled code, unless the compile mode is ``"never"``.

        Raises:
            KernelError: The kernel cannot be compiled.
        """
        if not self._tier.is_final:
            self._use(self._tier.wait())
        self._function("step")

    def _reset_rows(
        self, rows: Any, seeds: Sequence[int | None] | None, options: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Start new episodes; the options are passed to the environment's ``reset_params``."""
        storage, whole = self._storage, len(rows) == self.num_envs
        chosen = np.zeros(self.num_envs, np.bool_)
        chosen[rows] = True
        # The native code for seeding is compiled together with the step.
        self._function("step")
        if seeds is not None or not self._started.all():
            given = seeds_per_env(None, self.num_envs) if seeds is None else seeds
            streams = (storage.rng_words, given, None if whole else chosen, self._started)
            native = self._at_once
            self._seeds = seed_streams(*streams, before=self._seeds, native=native)
        params = self.env.reset_params(options or None)
        if params is not self.env.params:
            storage.set_params(params)
        self._run_reset(chosen)
        if params is not self.env.params:
            storage.set_params(self.env.params)
        return self._read.infos(storage.infos, chosen)

    def _run_reset(self, mask: Any) -> None:
        """Reset by a step in the mode ``only_reset``, which saves compiling another function."""
        storage = self._storage
        mode, waiting = storage.mode, storage.waiting.copy()
        storage.mode = MODES["only_reset"]
        storage.waiting[...] = mask
        try:
            self._function("step")(self._table, 0, self.num_envs)
        finally:
            storage.mode = mode
            storage.waiting[...] = waiting & ~mask

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Advance every environment by its action.

        Raises:
            InvalidAction: An action is not in the action space.
            ResetNeeded: The environments have not been reset.
            EpisodeOver: Autoreset is disabled and a finished environment was not reset.
            ValueError: The number of actions is wrong.

        After an error no environment has been stepped.
        """
        if not self._running:
            self._check_running()
        storage = self._storage
        count = self._step_at_once(actions) if self._alone else self._step_in_pieces(actions)
        if count is None:
            count = self._step_converted(actions)
        if count < 0:
            raise self._refusal(count, storage.actions)
        if count and self._same_step:
            infos = self._tell_finals(count)
        else:
            infos = self._read.infos(storage.infos) if self._tells else {}
        if self._shares:
            return self._seen, storage.rewards, storage.terminated, storage.truncated, infos
        rewards, terminated = storage.rewards.copy(), storage.terminated.copy()
        return self._observe(), rewards, terminated, storage.truncated.copy(), infos

    def _step_converted(self, actions: Any) -> int:
        """Step with actions that are not a plain array: a list, a tensor, or invalid ones."""
        given = np.asarray(actions)
        if type(actions) is not np.ndarray:
            count = self._step_at_once(given)
            if count is not None:
                return count
        self._actions.take(given)
        return int(self._step(self._table, 0, self.num_envs))

    def _step_in_pieces(self, actions: Any) -> int:
        storage = self._storage
        if self.autoreset_mode is AutoresetMode.DISABLED and storage.waiting.any():
            return OVER
        if self._board is not None and self._actions.is_row(actions):
            storage.give(actions)
            refused = self._board.take()
        else:
            self._actions.take(actions)
            taken = np.ascontiguousarray(storage.actions)
            refused = self._function("check")(self._table, self._program.address(taken), 1)
        if refused < 0:
            return int(refused)
        if self._board is None:
            step, table = self._step, self._table
            return self._team.run(lambda first, last: step(table, first, last))
        count = self._board.step()
        if count == FAILED:
            raise compiled_program_for(self._storage).compiled_error(self._board.error)
        return count

    def _refusal(self, count: int, rows: Any) -> Exception:
        """Return the error for a step that returned a negative count."""
        if count == OVER:
            return episode_over(np.flatnonzero(self._storage.waiting).tolist())
        return self._actions.refusal(rows)

    def _check_running(self) -> None:
        self._check_open()
        self._episodes.check_started()
        better = self._tier.better()
        if better is not None:
            self._use(better)
        self._step = self._function("step")
        self._step_at_once = self._whole_step()
        if self._same_step:
            self._tell_finals = self._whole_finals()
        if self._team.size > 1 and self._at_once:
            shared = compiled_program_for(self._storage).shared()
            self._board = Board(self._team, shared, self._table, self._storage)
        # Steps in plain Python check each time whether compiled code is ready.
        self._running = self._tier.is_final

    def _whole_step(self) -> Callable[[Any], int | None]:
        """Return a native step function; it returns ``None`` if it cannot read the actions."""
        rows = self._storage.actions
        if not self._at_once or isinstance(self.single_action_space, Tuple):
            return lambda _actions: None
        apart = rows.strides[0] // rows.itemsize
        owner = (self._table, self.num_envs, rows.ctypes.data, apart)
        return compiled_program_for(self._storage).batch_step(owner)

    def _observe(self) -> Any:
        return self._seen if self._shares else self._read.copied()

    def _whole_finals(self) -> Callable[[int], dict[str, Any]]:
        """Return a function from the number of finished episodes to the infos of such a step."""
        fill = self._read.fill_finals
        # With threads, finished environments are listed in several parts.
        return self._finals if fill is None or not self._alone else self._read.listed_finals(fill)

    def _finals(self, _count: int) -> dict[str, Any]:
        storage, read = self._storage, self._read
        return read.infos(storage.infos) | read.finals(storage.terminated | storage.truncated)

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
        """Run many steps in one compiled loop.

        Args:
            actions: One batch of actions per step, time first; or
            policy: A function ``policy(weights, observation, rng)``, compiled into the loop, from
                one observation (a tuple of numbers, or an array) to an action.
            weights: First argument of the policy: numbers, arrays, or tuples of them.
            steps: How many steps a policy runs.
            policy_seed: Seed of the policy's random generators, one per environment.
            out: A trajectory of an earlier rollout with as many steps, to be overwritten.

        Raises:
            ValueError: Neither or both of actions and policy are given, or ``out`` has the wrong
                shape.
            InvalidAction: An action is not in the action space. If it is among ``actions``, no step
                was made; a policy's steps before it were made.
            EpisodeOver: Autoreset is disabled and an episode ended before the last step.
        """
        from ludus.kernel.rollout import Buffers

        self._check_running()
        self.compile()
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
            # Filled with valid actions, so that steps that are not reached are not reported.
            lowest = np.broadcast_to(s.bounds[:, :1], (steps, *s.actions.shape))
            taken = lowest.astype(s.actions.dtype)
            # The name keeps the array alive while compiled code has its address.
            words = self._policy_words(policy_seed)
            loop, inputs = program.rollout_policy(policy), (weights, program.address(words))
        given = (*inputs, *map(program.address, (taken, *made)), steps)
        count = self._team.run(lambda first, last: loop(self._table, *given, first, last))
        if count < 0:
            raise self._refusal(count, taken)
        s.raw_observations[...], s.rewards[...] = made.observations[-1], made.rewards[-1]
        s.flags[:2] = made.flags[:, -1]
        return made.trajectory(taken, self.env)

    def _policy_words(self, seed: int) -> Any:
        """Return the states of a policy's random generators."""
        words = np.empty((self.num_envs, WORDS), np.uint64)
        seeds_to_words(range(seed, seed + self.num_envs), words, native=self._at_once)
        return words

    # --- the rest of the contract ---------------------------------------------------------------

    def _identity(self) -> State:
        return {"kernel": self.env.kernel.name, "num_envs": self.num_envs}

    def _save(self) -> State:
        return {"started": self._started.copy(), "storage": self._storage.save()}

    def _load(self, state: State) -> None:
        started = np.broadcast_to(np.asarray(state["started"], np.bool_), (self.num_envs,))
        self._storage.load(state["storage"], started)
        self._started[...] = started
        self._running = False

    def render(self) -> tuple[Any, ...] | None:
        """Return the frame of each environment, rendered by the single environment."""
        self._check_open()
        return tuple(self.render_one(index) for index in range(self.num_envs))

    def render_one(self, index: int) -> Any:
        """Return the frame of one environment, rendered by the single environment."""
        self.env.state = self._storage.state_at(index)
        return self.env.render()

    def close_extras(self, **kwargs: Any) -> None:
        """Stop the threads and close the single environment."""
        self._team.close()
        self.env.close()
