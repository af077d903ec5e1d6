"""Environments on a server that are stepped each for itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.errors import Inadmissible
from ludus.serve.binary.frames import Op
from ludus.serve.client.env import Steps, checked_columns, parts_of
from ludus.serve.client.vector_env import RemoteVectorEnv

__all__ = ["RemotePool"]


class RemotePool(RemoteVectorEnv):
    """A batch whose environments are stepped in any subsets; ``ludus.connect(..., pool=True)``.

    ``send`` starts steps of some environments and returns at once; ``recv`` returns the results of
    those that are ready first. An environment whose episode is over begins the next one with its
    next action, which is ignored, as in the autoreset mode ``NextStep``. Environments with long
    steps run side by side on the server, each in a thread of its own.

    Example:
        >>> pool = ludus.connect(url, "Hopper-v5", num_envs=8, pool=True)  # doctest: +SKIP
        >>> observations, infos = pool.reset(seed=0)  # doctest: +SKIP
        >>> pool.send(policy(observations))  # doctest: +SKIP
        >>> while training:  # doctest: +SKIP
        ...     observations, rewards, terminated, truncated, infos = pool.recv(4)
        ...     pool.send(policy(observations), infos["env_id"])
    """

    def send(self, actions: Any, rows: Any = None) -> None:
        """Start a step of some environments, without waiting for it.

        Args:
            actions: One action for each of them, in the form of a batch.
            rows: Their numbers; ``None`` for all.

        Raises:
            ClosedEnvironmentError: The pool was closed.
            InvalidAction: Not one action of the action space for each; nothing was sent.
            ValueError: Rows that are no different numbers of environments.
            ServerLost: The connection is lost.
        """
        self._check_open()
        chosen = np.arange(self.num_envs) if rows is None else np.asarray(rows)
        if (
            chosen.ndim != 1
            or chosen.dtype.kind not in "iu"
            or not 1 <= len(chosen) <= self.num_envs
            or chosen.min() < 0
            or chosen.max() >= self.num_envs
            or len(np.unique(chosen)) != len(chosen)
        ):
            raise ValueError(
                f"rows are {rows!r:.200}; expected different numbers from 0 to {self.num_envs - 1}."
            )
        given = self._action(actions, (len(chosen),))
        self._link.send(Op.SEND, chosen.astype(np.int64), given)

    def recv(self, count: int | None = None) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Return the results of the first environments that are ready.

        Args:
            count: How many; ``None`` for as many as there are environments.

        Returns:
            Observations, rewards, flags and infos as of ``step``, with ``count`` entries;
            ``infos["env_id"]`` has the numbers of the environments.

        Raises:
            ClosedEnvironmentError: The pool was closed.
            BadArguments: Fewer environments have an action.
            ValueError: ``count`` is no number of environments.
            ServedEnvError: An environment raised; the results of this call are lost.
        """
        self._check_open()
        wanted = self.num_envs if count is None else count
        if type(wanted) is not int or not 1 <= wanted <= self.num_envs:
            raise ValueError(f"count is {count!r:.60}; expected an int from 1 to {self.num_envs}.")
        value = self._link.call(Op.RECV, wanted)
        try:
            rows, observations, *columns, infos = parts_of(value, 6)
            if (
                type(rows) is not np.ndarray
                or rows.dtype != np.int64
                or rows.shape != (wanted,)
                or rows.min() < 0
                or rows.max() >= self.num_envs
                or len(np.unique(rows)) != wanted
            ):
                raise Inadmissible("the results are of no such environments.")
            rewards, terminated, truncated = checked_columns(columns, (wanted,))
            told = self._infos(infos, wanted, None)
            return (
                self._observation(observations, (wanted,), "observations"),
                rewards,
                terminated,
                truncated,
                {**told, "env_id": rows},
            )
        except Inadmissible as problem:
            self._link.connection.violate(str(problem))

    def step_many(self, actions: Any) -> Steps:
        """Refuse: the environments of a pool are stepped one step at a time.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError("A pool has no step_many(); connect without pool=True.")
