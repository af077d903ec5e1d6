"""Threads that share the environments of a batch, a few at a time, without Python's lock."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np

from ludus.kernel.batch.threads import Team
from ludus.kernel.memory import aligned_zeros

__all__ = ["Sharing"]

# Looks for work before a thread goes to sleep, less than a millisecond in all.
_PATIENCE = 20_000
_NO_PIECE_LEFT = 0xFFFFFFFF


class Sharing:
    """Native work on a batch that a team does in rounds.

    Args:
        team: The threads.
        function: What :func:`~ludus.kernel.native.calls.shared_function` returned.
        table: The batch's table, which stays where it is in memory.
    """

    def __init__(self, team: Team, function: Callable[..., int], table: Any) -> None:
        numbers = aligned_zeros((8,), np.int64)
        numbers[0] = _NO_PIECE_LEFT
        # One by one, so that nobody waits long for the last.
        pieces = 1 if team.size == 1 else team.n
        patience = _PATIENCE if team.has_room else 1
        self._team = team
        self._round = 0
        self._helping: list[Future[int] | None] = [None] * (team.size - 1)

        board, arrays = numbers.ctypes.data, table.ctypes.data

        def work(number: int, patience: int, _kept: Any = (numbers, table)) -> int:
            # The arrays are kept here so that they live as long as a thread looks at them.
            return function(board, number, pieces, team.n, patience, arrays)

        self._work = work
        self._help = lambda: work(0, patience)

    def run(self) -> int:
        """Work off one round; return the sum of what was counted."""
        self._round = (self._round & 0x7FFFFFFE) + 2
        self._team.step_aside()
        for k, helper in enumerate(self._helping):
            if helper is None or helper.done():
                self._helping[k] = self._team.call(self._help)
        return self._work(self._round, 0)
