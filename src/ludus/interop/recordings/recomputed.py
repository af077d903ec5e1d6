"""Observations that were not stored, got back by executing the recording again."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.core.vector_env import AutoresetMode
from ludus.errors import RecordDamaged, ReplayImpossible
from ludus.interop.recordings.rows import Rows, row_texts, shape_of, stored_rows
from ludus.record.episodes.row_buffer import RowBuffer, first_words
from ludus.record.format.values import Coded, Leaf, check_of, pack_texts, values_of
from ludus.record.replay.episode_table import Reset, column
from ludus.record.replay.rebuild import rebuild
from ludus.record.replay.subject import AnyEnv
from ludus.record.run.reader import RunReader

__all__ = ["recomputed_rows"]

_ROWS = 4096
_COMPARED = ("reward", "terminated", "truncated", "observation_check", "final_check")


def recomputed_rows(reader: RunReader) -> Iterator[Rows]:
    """Yield the rows of a recording as if its observations had been stored.

    They come in pieces of a few megabytes. Everything that was recorded is compared on the way, so
    these are the observations that were seen.

    Raises:
        ReplayImpossible: The environment cannot be built again, or does something else now.
        RecordDamaged: The recording is broken.
    """
    env = rebuild(reader.manifest["subject"])
    with contextlib.closing(env):
        yield from _Execution(reader, env).rows()


class _Execution:
    def __init__(self, reader: RunReader, env: AnyEnv) -> None:
        self._reader = reader
        self._env = env
        self._shape = shape = shape_of(reader.manifest)
        self._actions = values_of("action", env.action_space)
        seen = values_of("observation", env.observation_space)
        found = _described((*self._actions.leaves, *seen.leaves))
        stated = _described((*shape.actions, *shape.observations))
        if found != stated or getattr(env, "num_envs", None) != shape.num_envs:
            raise RecordDamaged(
                "The manifest describes other columns than its environment has.",
                file="manifest.json",
            )
        finals = shape.mode is AutoresetMode.SAME_STEP
        self._buffer = RowBuffer(self._actions, seen, shape.batch, _ROWS, finals=finals)

    def rows(self) -> Iterator[Rows]:
        for block in stored_rows(self._reader):
            resets = deque(block.resets)
            if not block.count:
                self._reset_before(block.first_row, resets)
                yield block
                continue
            actions, done = self._recorded_actions(block), 0
            while done < block.count:
                due = tuple(resets)
                self._execute(block, actions, done, resets)
                count = self._buffer.count
                yield self._piece(block, done, due[: len(due) - len(resets)])
                done += count

    def _execute(
        self, block: Rows, actions: Callable[[int], Any], done: int, resets: deque[Reset]
    ) -> None:
        """Step until the buffer is full or the block ends."""
        buffer = self._buffer
        buffer.clear()
        for index in range(done, block.count):
            self._reset_before(block.first_row + index, resets)
            try:
                is_full = buffer.end(self._env.step(actions(index)))
            except Exception as problem:  # the environment's own code
                raise _different(block.first_row + index, f"step() raises {problem!r}") from problem
            if is_full:
                return

    def _reset_before(self, row: int, resets: deque[Reset]) -> None:
        while resets and resets[0].row <= row:
            reset = resets.popleft()
            try:
                observation, _ = self._env.reset(seed=reset.seed, options=reset.options)
            except Exception as problem:  # the environment's own code
                raise _different(row, f"reset() raises {problem!r}") from problem
            if int(first_words(check_of(observation))[0]) != reset.check:
                raise _different(row, "reset() returns another observation")
            self._buffer.keep_first(observation)

    def _recorded_actions(self, block: Rows) -> Callable[[int], Any]:
        how = self._actions
        if isinstance(how, Coded):
            texts = row_texts(block, "action")
            return lambda row: how.decoded(texts[row])
        columns = []
        for leaf in how.leaves:
            found = block.columns.get(leaf.name)
            # Floats are kept in the dtype they were given in, which the results depend on.
            is_given = found is not None and leaf.dtype.kind not in "iu"
            dtype = found.dtype if found is not None and is_given else leaf.dtype
            columns.append(np.array(column(block.columns, leaf.name, dtype, leaf.shape)))
        return lambda row: how.value(columns, row)

    def _piece(self, block: Rows, done: int, resets: tuple[Reset, ...]) -> Rows:
        """Return what is in the buffer, with the recorded actions, if all of it agrees."""
        count = self._buffer.count
        part = slice(done, done + count)
        found = {
            name: np.array(values) for name, values in self._buffer.columns(narrow=False).items()
        }
        for name in _COMPARED:
            if name in found:
                new = found[name]
                old = column(block.columns, name, new.dtype, new.shape[1:])[part]
                if not (differs := _rows_that_differ(old, new)).any():
                    continue
                raise _different(block.first_row + done + int(np.argmax(differs)), name)
        if isinstance(self._actions, Coded):
            found |= pack_texts("action", row_texts(block, "action")[part])
        for leaf in self._actions.leaves:
            found[leaf.name] = block.columns[leaf.name][part]
        return Rows(block.first_row + done, count, found, resets)


def _described(leaves: Iterable[Leaf]) -> list[tuple[Any, ...]]:
    return [(leaf.name, leaf.dtype, leaf.shape) for leaf in leaves]


def _rows_that_differ(old: NDArray[Any], new: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows do not have the same bits."""
    before, now = (np.ascontiguousarray(each).view(np.uint8) for each in (old, new))
    found: NDArray[np.bool_] = (before != now).reshape(len(new), -1).any(axis=1)
    return found


def _different(row: int, what: str) -> ReplayImpossible:
    return ReplayImpossible(
        f"The observations were not stored, and cannot be recomputed: executed again, row {row} "
        f"differs from the recording ({what}). Is it the same code as then?"
    )
