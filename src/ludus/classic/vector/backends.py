"""Gym's vector environments in this process and in worker processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ludus import vector as engines
from ludus.classic.error import AlreadyPendingCallError, NoAsyncCallError
from ludus.classic.vector.vector_env import SlotBuilder, StepResult, VectorEnv
from ludus.spaces import Space, batch_space

__all__ = ["AsyncVectorEnv", "SyncVectorEnv"]


class SyncVectorEnv(VectorEnv):
    """Steps environments one after the other in this process.

    Args:
        env_fns: Functions that build the environments.
        observation_space: Observation space of one environment; by default the first one's.
        action_space: Ignored; the first environment's is used.
        copy: Whether to return a copy of the observations; otherwise the next call overwrites them.

    Raises:
        RuntimeError: The environments' observation spaces are not equal.
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Any]],
        observation_space: Space[Any] | None = None,
        action_space: Space[Any] | None = None,
        copy: bool = True,
    ) -> None:
        self._actions: Any = None
        engine = engines.SyncVectorEnv(
            [SlotBuilder(env_fn) for env_fn in env_fns],
            copy=copy,
            observation_mode=_observation_mode(observation_space, len(env_fns)),
            autoreset_mode=engines.AutoresetMode.SAME_STEP,
        )
        super().__init__(engine)
        self.envs = [slot.env for slot in engine.envs]  # type: ignore[attr-defined]

    def reset_async(self) -> None:
        """Do nothing yet."""

    def reset_wait(self, timeout: float | None = None) -> Any:
        """Reset all environments and return their observations."""
        return self._engine.reset(seed=self._take_seeds())[0]  # type: ignore[arg-type]

    def step_async(self, actions: Any) -> None:
        """Store the actions.

        Raises:
            AlreadyPendingCallError: A step is pending.
        """
        if self._actions is not None:
            raise AlreadyPendingCallError("Call step_wait() before the next step_async().", "step")
        self._actions = self._batched(actions)

    def step_wait(self, timeout: float | None = None) -> StepResult:
        """Step every environment.

        Raises:
            NoAsyncCallError: ``step_async`` has not been called.
        """
        if self._actions is None:
            raise NoAsyncCallError("Call step_async() before step_wait().", "step")
        actions, self._actions = self._actions, None
        return self._converted(self._engine.step(actions))


class AsyncVectorEnv(VectorEnv):
    """Steps environments in parallel, in worker processes.

    The other arguments are those of :class:`SyncVectorEnv`.

    Args:
        shared_memory: Whether observations are passed through shared memory.
        context: Start method of the processes: ``"fork"``, ``"spawn"`` or ``"forkserver"``.
        daemon: Whether the workers end with this process.
        worker: Not supported.

    Raises:
        RuntimeError: The environments' observation spaces are not equal.
        NotImplementedError: ``worker`` is given; :class:`ludus.vector.AsyncVectorEnv` supports
            worker functions, with its own protocol.
    """

    _engine: engines.AsyncVectorEnv[Any, Any]

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Any]],
        observation_space: Space[Any] | None = None,
        action_space: Space[Any] | None = None,
        shared_memory: bool = True,
        copy: bool = True,
        context: str | None = None,
        daemon: bool = True,
        worker: Callable[..., None] | None = None,
    ) -> None:
        if worker is not None:
            raise NotImplementedError(
                "Worker functions for classic Gym's protocol are not supported. Use a wrapper "
                "instead, or write the worker for ludus.vector.AsyncVectorEnv."
            )
        super().__init__(
            engines.AsyncVectorEnv(
                [SlotBuilder(env_fn) for env_fn in env_fns],
                shared_memory=shared_memory,
                copy=copy,
                context=context,
                daemon=daemon,
                observation_mode=_observation_mode(observation_space, len(env_fns)),
                autoreset_mode=engines.AutoresetMode.SAME_STEP,
            )
        )

    def reset_async(self) -> None:
        """Start a reset.

        Raises:
            AlreadyPendingCallError: Another call is pending.
            ClosedEnvironmentError: The environments are closed.
        """
        self._engine.reset_async(seed=self._take_seeds())

    def reset_wait(self, timeout: float | None = None) -> Any:
        """Finish a reset and return the observations.

        Raises:
            NoAsyncCallError: ``reset_async`` has not been called.
            multiprocessing.TimeoutError: It took longer than ``timeout`` seconds.
        """
        return self._engine.reset_wait(timeout)[0]

    def step_async(self, actions: Any) -> None:
        """Start a step.

        Raises:
            AlreadyPendingCallError: Another call is pending.
            ClosedEnvironmentError: The environments are closed.
        """
        self._engine.step_async(self._batched(actions))

    def step_wait(self, timeout: float | None = None) -> StepResult:
        """Finish a step; the infos are a tuple.

        Raises:
            NoAsyncCallError: ``step_async`` has not been called.
            multiprocessing.TimeoutError: It took longer than ``timeout`` seconds.
        """
        observations, rewards, dones, infos = self._converted(self._engine.step_wait(timeout))
        return observations, rewards, dones, tuple(infos)


def _observation_mode(
    space: Space[Any] | None, num_envs: int
) -> str | tuple[Space[Any], Space[Any]]:
    """Return the backends' ``observation_mode`` for an observation space, given or not."""
    return "same" if space is None else (batch_space(space, num_envs), space)
