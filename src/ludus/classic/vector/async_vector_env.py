"""Classic environments stepped in processes of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ludus import vector as engines
from ludus.classic.vector.slot import SlotBuilder
from ludus.classic.vector.sync_vector_env import observation_mode
from ludus.classic.vector.vector_env import StepResult, VectorEnv
from ludus.spaces import Space

__all__ = ["AsyncVectorEnv"]


class AsyncVectorEnv(VectorEnv):
    """Step the environments in parallel, in worker processes.

    Args:
        env_fns: One function per environment, which builds it.
        observation_space: One environment's observations; by default the first one's.
        action_space: Ignored; the first environment's is taken.
        shared_memory: Whether observations go through shared memory.
        copy: Return a copy of the batch of observations; otherwise the next call overwrites it.
        context: How processes start: ``"fork"``, ``"spawn"``, ``"forkserver"``.
        daemon: Whether the workers end with this process.
        worker: Not supported; see Raises.

    Raises:
        RuntimeError: The environments' observation spaces are not equal.
        NotImplementedError: ``worker`` is given: its protocol was another one, with four values
            per step; :class:`ludus.vector.AsyncVectorEnv` takes functions for the present one.
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
                "A worker function for classic Gym's protocol cannot be run. Put what it does into "
                "a wrapper, or write it for ludus.vector.AsyncVectorEnv."
            )
        super().__init__(
            engines.AsyncVectorEnv(
                [SlotBuilder(env_fn) for env_fn in env_fns],
                shared_memory=shared_memory,
                copy=copy,
                context=context,
                daemon=daemon,
                observation_mode=observation_mode(observation_space, len(env_fns)),
                autoreset_mode=engines.AutoresetMode.SAME_STEP,
            )
        )

    def reset_async(self) -> None:
        """Start to reset.

        Raises:
            AlreadyPendingCallError: Another call is pending.
            ClosedEnvironmentError: The environments are closed.
        """
        self._engine.reset_async(seed=self._take_seeds())

    def reset_wait(self, timeout: float | None = None) -> Any:
        """Finish to reset and return the observations.

        Raises:
            NoAsyncCallError: ``reset_async`` has not been called.
            multiprocessing.TimeoutError: It took longer than ``timeout`` seconds.
        """
        return self._engine.reset_wait(timeout)[0]

    def step_async(self, actions: Any) -> None:
        """Start to step.

        Raises:
            AlreadyPendingCallError: Another call is pending.
            ClosedEnvironmentError: The environments are closed.
        """
        self._engine.step_async(self._batched(actions))

    def step_wait(self, timeout: float | None = None) -> StepResult:
        """Finish to step; the infos are a tuple.

        Raises:
            NoAsyncCallError: ``step_async`` has not been called.
            multiprocessing.TimeoutError: It took longer than ``timeout`` seconds.
        """
        observations, rewards, dones, infos = self._converted(self._engine.step_wait(timeout))
        return observations, rewards, dones, tuple(infos)
