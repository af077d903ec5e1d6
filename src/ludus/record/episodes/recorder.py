"""The recorder of both wrappers: calls in, rows and resets out, in order."""

from __future__ import annotations

import copy
import operator
import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ludus.errors import CodecError, EpisodeOver, InvalidAction, RecordError, ResetNeeded
from ludus.record.episodes.row_buffer import RowBuffer, first_words
from ludus.record.format import canonical
from ludus.record.format.values import check_of
from ludus.record.run.run import Run

__all__ = ["REFUSALS", "Recorder", "checked_seed"]

REFUSALS = (InvalidAction, ResetNeeded, EpisodeOver)
"""Errors after which nothing has been stepped, so that the recording can go on."""

_MOST_RESETS = 256
_SEED_BITS = 48


class Recorder:
    """Writes what a wrapper sees into a run, which is closed with the recorder.

    A call is announced with :meth:`begin_step` or :meth:`begin_reset` and completed with
    :meth:`end_step` or :meth:`end_reset`. If one is never completed, the environment is in a state
    that no recorded call leads to, and nothing more is recorded. Rows older than ``flush_seconds``
    are written with the next one; ``was_reset`` tells whether a reset with a known seed has been
    recorded.
    """

    def __init__(
        self,
        run: Run,
        buffer: RowBuffer,
        *,
        flush_seconds: float,
        sync_every: int | None,
        was_reset: bool = False,
    ) -> None:
        self.run = run
        self._buffer = buffer
        self._flush_seconds = flush_seconds
        self._sync_every = sync_every
        self._blocks = 0
        self._announced: dict[str, Any] = {}
        self._resets: list[_PendingReset] = []
        buffer.first_row = run.rows
        self._was_reset = was_reset
        self._pending = False
        self._due = time.monotonic() + flush_seconds
        self._process = os.getpid()
        self.is_closed = False

    @property
    def rows(self) -> int:
        """Rows so far, those not yet written included."""
        return self._buffer.first_row + self._buffer.count

    def begin_reset(self, seed: Any, options: dict[str, Any] | None) -> Any:
        """Return the seed to reset with: the given one, or a drawn one for the first reset.

        Raises:
            RecordError: The options are not plain data, or the recording has ended.
        """
        self._check_ready()
        if seed is None and not self._was_reset:
            seed = secrets.randbits(_SEED_BITS)
        seed = checked_seed(seed)
        if seed is not None or options is not None:
            try:
                canonical.dumps([seed, options])
            except CodecError as problem:
                raise RecordError(
                    f"The seed or the options of reset() cannot be recorded. {problem}"
                ) from None
        # A copy, because the environment or the caller may change them before they are written.
        self._announced = {"row": self.rows, "seed": seed, "options": copy.deepcopy(options)}
        self._pending = True
        return seed

    def end_reset(self, observation: Any) -> None:
        """Keep the announced reset and the check of what it returned."""
        check = int(first_words(check_of(observation))[0])
        self._resets.append(_PendingReset({**self._announced, "check": check}))
        self._buffer.keep_first(observation)
        # The first seed may have been drawn; without it nothing could be resumed.
        is_first, self._was_reset = not self._was_reset, True
        self._pending = False
        if is_first or len(self._resets) >= _MOST_RESETS:
            self.flush()

    def begin_step(self, action: Any) -> None:
        """Keep the action of a step about to be made.

        Raises ``RecordError`` if the recording has ended or the action does not fit the action
        space, and ``ResetNeeded`` before the first reset.
        """
        if self._pending or self.is_closed or not self._was_reset:
            self._check_ready()
            raise ResetNeeded("Call reset() of the recording before its first step().")
        if self._buffer.begin(action):
            self.flush()
            self._buffer.begin(action)
        self._pending = True

    def end_step(self, result: tuple[Any, Any, Any, Any, Any]) -> None:
        """Keep what the step returned; write a block if there are enough rows, or old ones."""
        is_full = self._buffer.end(result)
        self._pending = False
        if is_full or time.monotonic() > self._due:
            self.flush()

    def refused(self) -> None:
        """Note that the announced call was refused and changed nothing."""
        self._pending = False

    def flush(self, *, sync: bool = False) -> None:
        """Write everything that is complete; with ``sync``, wait for the disk as well."""
        buffer, end = self._buffer, self.rows
        self._due = time.monotonic() + self._flush_seconds
        # A full disk or an interrupt may end this anywhere; the next call loses nothing and writes
        # nothing twice.
        self._write_resets(before=end)
        if buffer.count:
            if self.run.rows == buffer.first_row:
                self._blocks += 1
                due = self._sync_every is not None and self._blocks % self._sync_every == 0
                self.run.append_block(buffer.columns(), sync=due)
            buffer.clear(self.run.rows)
        self._write_resets(before=end + 1)
        if sync:
            self.run.sync()

    def _write_resets(self, before: int) -> None:
        while self._resets and self._resets[0].data["row"] < before:
            reset = self._resets[0]
            if reset.tried_at is None:
                reset.tried_at = self.run.events_count
            if self.run.events_count == reset.tried_at:
                self.run.append("reset", reset.data)
            del self._resets[0]

    def add_result(self, claim: Mapping[str, Any]) -> None:
        """Write a claim about the rows so far."""
        self.flush()
        self.run.append("result", claim, sync=True)

    def add_file(self, name: str, source: Path) -> None:
        """Put a file into the run, after everything so far."""
        self.flush()
        self.run.add_file(name, source)

    def close(self, outcome: str = "complete") -> None:
        """Write everything and close the run; a second call, or one in a fork, does nothing."""
        if self.is_closed or self._process != os.getpid():
            return
        if self._pending:
            outcome = "interrupted"
        self.flush()
        self.run.close(outcome)
        self.is_closed = True

    def _check_ready(self) -> None:
        if self.is_closed:
            raise RecordError(f"The recording in {self.run.path} is closed. Start another one.")
        if self._pending:
            raise RecordError(
                f"The recording in {self.run.path} has ended: a call of step() or reset() was not "
                "completed, so the environment's state is unknown. Close it; it can be resumed."
            )


@dataclass(slots=True)
class _PendingReset:
    data: dict[str, Any]
    tried_at: int | None = None
    """How many events there were when it was first tried to be written."""


def checked_seed(seed: Any) -> Any:
    """Return a seed as plain data: an int, a list with one per environment, or ``None``."""
    if seed is None:
        return None
    try:
        if isinstance(seed, list | tuple | range | np.ndarray):
            return [None if one is None else operator.index(one) for one in seed]
        return operator.index(seed)
    except TypeError:
        raise RecordError(
            f"A seed of {type(seed)} cannot be recorded: {seed!r:.100}. Use an int, or a list with "
            "one per environment."
        ) from None
