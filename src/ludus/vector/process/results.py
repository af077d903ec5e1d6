"""Combines the workers' answers into batches of observations and merged infos."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.core.batch_arguments import BatchedSpaces
from ludus.spaces import concatenate, create_empty_array, iterate
from ludus.vector.process.buffer import Arrays, Plan
from ludus.vector.process.info_columns import ColumnReader, merge_rows
from ludus.vector.process.views import copy_rows, select_row

__all__ = ["Results"]


class Results:
    """The parent's side of the shared arrays and of the info columns.

    Args:
        plan: The layout of the shared buffer.
        arrays: The shared arrays.
        spaces: The spaces of the vector environment.
        blocks: Each worker's first environment, and the one after its last.
    """

    def __init__(
        self, plan: Plan, arrays: Arrays, spaces: BatchedSpaces, blocks: list[tuple[int, int]]
    ) -> None:
        self._plan = plan
        self._spaces = spaces
        self._blocks = blocks
        self.arrays = arrays
        self._readers: list[ColumnReader] = []
        for start, stop in blocks:
            area = arrays.info_bytes[start:stop]
            self._readers.append(ColumnReader(area, start, stop - start))
        self.in_pipe = plan.observations is None
        """Whether observations are sent through pipes."""
        self._rows: list[Any] = [None] * plan.num_envs
        self.observations: Any = arrays.observations
        if self.in_pipe:
            self.observations = create_empty_array(spaces.single_observation, n=plan.num_envs)

    def forget_columns(self, worker: int) -> None:
        """Discard the columns of a worker that was restarted."""
        start, stop = self._blocks[worker]
        area = self.arrays.info_bytes[start:stop]
        self._readers[worker] = ColumnReader(area, start, stop - start)

    def learn_columns(self, worker: int, message: Any) -> None:
        """Add the new columns of a message."""
        if isinstance(message, dict):
            self._readers[worker].add(message["columns"])

    def merge(self, messages: dict[int, Any]) -> dict[str, Any]:
        """Return the merged infos.

        Args:
            messages: Messages by worker; ``None`` if its infos are in columns only.
        """
        loose: list[tuple[int, dict[str, Any]]] = []
        in_columns = []
        for worker, message in messages.items():
            if message is None or message["infos"] is None:
                in_columns.append(self._readers[worker])
            if message is not None:
                self.learn_columns(worker, message)
                loose += self._unpack(worker, message)
        if self.in_pipe and messages:
            self.observations = concatenate(
                self._spaces.single_observation, self._rows, self.observations
            )
        infos: dict[str, Any] = {}
        if loose:
            for reader in in_columns:
                loose += reader.rows()
            infos = merge_rows(loose, self._plan.num_envs)
        else:
            for reader in in_columns:
                reader.merge(infos, self._plan.num_envs)
        self._add_final_observations(infos)
        return infos

    def _unpack(self, worker: int, message: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
        start = self._blocks[worker][0]
        for row, observation in message["observations"].items():
            self._rows[start + row] = observation
        loose = [(start + row, info) for row, info in message["infos"] or ()]
        loose += [(start + row, {"final_obs": last}) for row, last in message["finals"].items()]
        return loose

    def _add_final_observations(self, infos: dict[str, Any]) -> None:
        """Add the last observations that are in shared memory."""
        mask = infos.get("_final_info")
        if mask is None or self.in_pipe:
            return
        sent: Any = infos.get("final_obs")
        which = infos.get("_final_obs")
        finals = np.full(self._plan.num_envs, None, dtype=object)
        for index in np.flatnonzero(mask).tolist():
            kept = which is None or not which[index]
            finals[index] = (
                select_row(self.arrays.final_observations, index) if kept else sent[index]
            )
        infos["final_obs"], infos["_final_obs"] = finals, mask.copy()

    def last_become_final(self, worker: int) -> dict[int, Any]:
        """Make a worker's last observations the final ones; return those not in shared memory."""
        start, stop = self._blocks[worker]
        if self.in_pipe:
            return dict(enumerate(self._rows[start:stop]))
        copy_rows(self.arrays.observations, self.arrays.final_observations, slice(start, stop))
        return {}

    def restore_observations(self, observations: Any) -> None:
        """Set the last observations to saved ones."""
        self._rows = list(iterate(self._spaces.observation, observations))
        concatenate(self._spaces.single_observation, self._rows, self.observations)
