"""Rows of a recording in memory, before they are written as a block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import RecordError
from ludus.record.format.columns import narrowed
from ludus.record.format.values import Coded, Leaves, Values, check_of, encoded, pack_texts

__all__ = ["BitsColumn", "RowBuffer", "RowColumn", "make_column"]


_MANY = 256


class RowColumn:
    """Room for one value of a fixed shape per row."""

    def __init__(self, size: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        self.dtype = dtype
        self.shape = shape
        self._size = size
        self._values = np.zeros((size, *shape), dtype)

    def put(self, row: int, value: Any) -> None:
        """Keep the value of a row."""
        self._values[row] = value

    def rows(self, count: int) -> NDArray[Any]:
        """Return the first rows; later ones overwrite them."""
        return self._values[:count]

    def stored(self, count: int) -> NDArray[Any]:
        """Return the first rows in the smallest dtype that holds them."""
        return narrowed(self.rows(count))

    def restart(self) -> None:
        """Start again with the first row."""


class BitsColumn(RowColumn):
    """Numbers of many environments, kept as bits while all of them are 0 or 1.

    A row is checked when it is added, while it is in the processor's cache.
    """

    def __init__(self, size: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        super().__init__(0, dtype, shape)
        self._size = size
        self._word = np.dtype(f"u{dtype.itemsize}")
        self._one = np.ones((), dtype).view(self._word)
        self._bits = np.zeros((size, *shape), np.bool_)
        self._are_bits = True

    def put(self, row: int, value: Any) -> None:
        """Keep the value of a row."""
        if self._are_bits:
            words = np.asarray(value, self.dtype).view(self._word)
            ones = self._bits[row]
            np.equal(words, self._one, out=ones)
            if np.count_nonzero(words) == np.count_nonzero(ones):
                return
            self._widen(row)
        self._values[row] = value

    def _widen(self, count: int) -> None:
        if not len(self._values):
            self._values = np.zeros((self._size, *self.shape), self.dtype)
        self._values[:count] = self._bits[:count]
        self._are_bits = False

    def rows(self, count: int) -> NDArray[Any]:
        """Return the first rows; later ones overwrite them."""
        return self._bits[:count].astype(self.dtype) if self._are_bits else self._values[:count]

    def stored(self, count: int) -> NDArray[Any]:
        """Return the first rows in the smallest dtype that holds them."""
        return self._bits[:count] if self._are_bits else narrowed(self._values[:count])

    def restart(self) -> None:
        """Start again with the first row."""
        self._are_bits = True


def make_column(size: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> RowColumn:
    """Return the kind of column that is fastest for such values."""
    is_batch = len(shape) == 1 and shape[0] >= _MANY
    if is_batch and dtype in (np.dtype(np.int64), np.dtype(np.float64)):
        return BitsColumn(size, dtype, shape)
    return RowColumn(size, dtype, shape)


_BYTES = 4 * 2**20  # More does not stay in the processor's cache until it is written.
_SCALARS = (int, np.int64)
_DIGEST = 32


class RowBuffer:
    """Columns of the rows since the last block, one slot per step.

    :meth:`begin` takes the action before the step, :meth:`end` what the step returned; a row counts
    once both have returned. A block has at most ``rows`` rows, fewer if they are large. Without
    ``observations``, only their checks are stored. With ``finals``, infos may hold last
    observations (same-step autoreset).
    """

    def __init__(
        self,
        actions: Values,
        observations: Values | None,
        batch: tuple[int, ...],
        rows: int,
        *,
        finals: bool = False,
    ) -> None:
        self._actions = actions
        self._observations = observations
        self.size = _slots(actions, observations, batch, rows)
        """How many rows there is room for."""
        self.count = 0
        """How many there are."""
        self.first_row = 0
        """Number of the first one within the run."""
        self._finals = finals
        self._single_action = actions.is_single
        self._action_columns = [self._column(leaf.dtype, leaf.shape) for leaf in actions.leaves]
        seen = () if observations is None else observations.leaves
        self._seen_columns = [RowColumn(self.size, leaf.dtype, leaf.shape) for leaf in seen]
        self._look_up()
        self._reward = self._column(np.dtype(np.float64), batch)
        self._put_reward = self._reward.put
        self._terminated = np.zeros((self.size, *batch), np.bool_)
        self._truncated = np.zeros((self.size, *batch), np.bool_)
        self._checks = bytearray(_DIGEST * self.size)
        self._final_checks = bytearray(_DIGEST * self.size if finals else 0)
        self._texts: dict[str, list[bytes]] = {}
        self._text_bytes = 0

    def _column(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> RowColumn:
        return make_column(self.size, dtype, shape)

    def _look_up(self) -> None:
        """Find out what :meth:`begin` needs, after the columns of actions have changed."""
        self._is_count = False
        if self._single_action:
            (column,) = self._action_columns
            self._put_action = column.put
            self._form = column.dtype, column.shape
            self._is_count = self._form == (np.dtype(np.int64), ())

    def begin(self, action: Any) -> bool:
        """Keep the action of the next row; return whether it needs columns of another dtype.

        Raises:
            RecordError: It does not have the form of the action space.
        """
        if type(action) is np.ndarray:
            is_plain = self._single_action and (action.dtype, action.shape) == self._form
        else:
            is_plain = self._is_count and type(action) in _SCALARS
        if not is_plain:
            return self._begin_any(action)
        self._put_action(self.count, action)
        return False

    def _begin_any(self, action: Any) -> bool:
        if isinstance(self._actions, Coded):
            self._keep_text("action", encoded("action", action))
            return False
        try:
            parts = [np.asarray(part) for part in self._actions.parts(action)]
        except (KeyError, IndexError, TypeError, ValueError) as problem:
            raise RecordError(
                f"The action {action!r:.200} does not have the structure of "
                f"{self._actions.space}: {problem!r}."
            ) from None
        for column, part in zip(self._action_columns, parts, strict=True):
            if part.shape != column.shape or part.dtype.kind not in "biuf":
                raise RecordError(
                    f"The action {action!r:.200} has the shape {part.shape} and dtype "
                    f"{part.dtype}; recorded are actions of {self._actions.space}."
                )
        if any(_loses(p.dtype, c.dtype) for p, c in zip(parts, self._action_columns, strict=True)):
            if self.count:
                return True
            self._action_columns = [
                self._column(part.dtype, part.shape) if _loses(part.dtype, column.dtype) else column
                for part, column in zip(parts, self._action_columns, strict=True)
            ]
            self._look_up()
        for column, part in zip(self._action_columns, parts, strict=True):
            column.put(self.count, part)
        return False

    def end(self, result: tuple[Any, Any, Any, Any, Any]) -> bool:
        """Add what the step returned; return whether the rows should be written now."""
        observation, reward, terminated, truncated, infos = result
        row = self.count
        if self._observations is not None:
            self._keep_observation(row, observation)
        self._checks[_DIGEST * row : _DIGEST * (row + 1)] = check_of(observation)
        self._put_reward(row, reward)
        self._terminated[row] = terminated
        self._truncated[row] = truncated
        if self._finals:
            self._keep_finals(row, infos)
        self.count = row + 1
        return row + 1 >= self.size or self._text_bytes > _BYTES

    def _keep_observation(self, row: int, observation: Any) -> None:
        how = self._observations
        if isinstance(how, Coded):
            self._keep_text("observation", encoded("observation", observation))
        elif isinstance(how, Leaves):
            for column, part in zip(self._seen_columns, how.parts(observation), strict=True):
                column.put(row, part)

    def _keep_finals(self, row: int, infos: Mapping[str, Any]) -> None:
        finals = infos.get("final_obs")
        check = bytes(_DIGEST) if finals is None else check_of(finals)
        self._final_checks[_DIGEST * row : _DIGEST * (row + 1)] = check
        if self._observations is not None:
            text = b"" if finals is None else encoded("final_observation", finals)
            self._keep_text("final_observation", text)

    def keep_first(self, observation: Any) -> None:
        """Keep what a reset returned with the next row, if observations are stored."""
        if self._observations is not None:
            self._keep_text("reset_observation", encoded("reset_observation", observation))

    def _keep_text(self, name: str, text: bytes) -> None:
        texts = self._texts.setdefault(name, [])
        # Rows without one have an empty one; a second one in the same row replaces the first.
        texts += [b""] * (self.count - len(texts))
        del texts[self.count :]
        texts.append(text)
        self._text_bytes += len(text)

    def columns(self, *, narrow: bool = True) -> dict[str, NDArray[Any]]:
        """Return the rows as columns of a block, views that the next rows overwrite."""
        count = self.count
        named = zip(self._actions.leaves, self._action_columns, strict=True)
        found = {leaf.name: _rows(column, count, narrow=narrow) for leaf, column in named}
        found["reward"] = self._reward.stored(count) if narrow else self._reward.rows(count)
        found["terminated"] = self._terminated[:count]
        found["truncated"] = self._truncated[:count]
        found["observation_check"] = first_words(self._checks)[:count]
        if self._finals:
            found["final_check"] = first_words(self._final_checks)[:count]
        if self._observations is not None:
            named = zip(self._observations.leaves, self._seen_columns, strict=True)
            found |= {leaf.name: _rows(column, count, narrow=narrow) for leaf, column in named}
        for name, texts in self._texts.items():
            kept = texts[:count] + [b""] * (count - len(texts))
            if any(kept):
                found |= pack_texts(name, kept)
        return found

    def clear(self, first_row: int = 0) -> None:
        """Forget the rows, but keep what a reset after the last of them returned."""
        left = self._texts.get("reset_observation", [])[self.count :]
        texts = {"reset_observation": left} if left else {}
        size = sum(map(len, left))
        for column in (self._reward, *self._action_columns):
            column.restart()
        # Nothing is called in between, so that an interrupt finds all of it done, or nothing.
        self.count, self.first_row, self._texts, self._text_bytes = 0, first_row, texts, size


def first_words(digests: bytes | bytearray) -> NDArray[np.uint64]:
    """Return the first eight bytes of each SHA-256, as little-endian numbers; a copy."""
    return np.frombuffer(digests, "<u8").reshape(-1, _DIGEST // 8)[:, 0].copy()


def _rows(column: RowColumn, count: int, *, narrow: bool) -> NDArray[Any]:
    """Return integers as asked for, and others as they are, since their dtype counts."""
    return column.stored(count) if narrow and column.dtype.kind in "iu" else column.rows(count)


def _loses(given: np.dtype[Any], kept: np.dtype[Any]) -> bool:
    return not np.can_cast(given, kept, "safe")


def _slots(actions: Values, observations: Values | None, batch: tuple[int, ...], rows: int) -> int:
    leaves = (*actions.leaves, *(() if observations is None else observations.leaves))
    width = sum(leaf.dtype.itemsize * int(np.prod(leaf.shape)) for leaf in leaves)
    width += 10 * int(np.prod(batch)) + 32
    return max(1, min(rows, _BYTES // width))
