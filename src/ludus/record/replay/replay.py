"""Replay: recorded calls made again, and their results compared bit for bit."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.errors import RecordDamaged, ReplayImpossible
from ludus.record.episodes.row_buffer import RowBuffer, first_words
from ludus.record.format import canonical
from ludus.record.format.block import Block
from ludus.record.format.columns import restored
from ludus.record.format.values import Coded, Values, check_of, unpack_texts, values_of
from ludus.record.replay.episode_table import Reset, episodes, spans, stored_column
from ludus.record.replay.rebuild import rebuild
from ludus.record.replay.subject import AnyEnv, autoreset_mode, describe
from ludus.record.run.reader import RunReader, read_run

__all__ = [
    "EPISODES",
    "Difference",
    "Mismatch",
    "Playback",
    "RecordedRows",
    "Replay",
    "check_subject",
    "replay",
    "replay_reader",
]

_Form = tuple[np.dtype[Any], tuple[int, ...]]
_ROWS = 4096
_DESCRIBED = (
    "action_space",
    "autoreset_mode",
    "columns",
    "num_envs",
    "observation_space",
    "observations",
)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first value that came back differently."""

    row: int
    env_index: int | None
    """``None`` where the whole row differs, or there is one environment only."""
    field: str
    recorded: Any
    replayed: Any


class Playback:
    """A recording executed in a new environment that was built as the recorded one was.

    The environment is stepped and reset, not closed. After ``max_seconds`` nothing more is
    executed.

    Raises:
        RecordDamaged: The recording is of something else than such an environment.
    """

    def __init__(self, reader: RunReader, env: AnyEnv, *, max_seconds: float | None = None) -> None:
        self._reader = reader
        self._max_seconds, self._began = max_seconds, time.monotonic()
        self._env = env
        subject = reader.manifest["subject"]
        self._actions = values_of("action", env.action_space)
        stored = values_of("observation", env.observation_space)
        self._seen = stored if subject.get("observations") is True else None
        check_subject(subject, describe(env, self._actions, stored, stored=self._seen is not None))
        self._batch = (env.num_envs,) if isinstance(env, VectorEnv) else ()
        self._finals = isinstance(env, VectorEnv) and autoreset_mode(env) is AutoresetMode.SAME_STEP
        self._buffer = RowBuffer(self._actions, self._seen, self._batch, _ROWS, finals=self._finals)
        # The most telling first: of several that differ in a row, this is the one to be named.
        self._forms: dict[str, _Form] = {
            "reward": (np.dtype(np.float64), self._batch),
            "terminated": (np.dtype(np.bool_), self._batch),
            "truncated": (np.dtype(np.bool_), self._batch),
        }
        for leaf in () if self._seen is None else self._seen.leaves:
            self._forms[leaf.name] = (leaf.dtype, leaf.shape)
        for name in ("observation_check", *(["final_check"] if self._finals else [])):
            self._forms[name] = (np.dtype(np.uint64), ())
        self._texts = [] if self._seen is None else ["reset_observation"]
        self._texts += ["final_observation"] if self._seen is not None and self._finals else []
        self._texts += ["observation"] if isinstance(self._seen, Coded) else []
        self.rows = 0
        """Rows that were executed and agree."""
        self.ends = 0
        """Steps among them at which an episode ended."""
        self.last: tuple[Any, ...] | None = None
        """What the last call returned: two values of a reset, five of a step."""

    def run(self) -> Iterator[Mismatch | None]:
        """Execute the recording; yield after each block, and a mismatch last if there is one.

        Raises ``ReplayImpossible`` after ``max_seconds``.
        """
        for span in spans(self._reader):
            mismatch = self._play(span.block, list(span.resets))
            yield mismatch
            if mismatch is not None:
                return

    def _play(self, block: Block | None, resets: list[Reset]) -> Mismatch | None:
        if block is None:
            return self._reset_before(self.rows + 1, resets)
        self._check_names(block)
        recorded = RecordedRows(block, self._actions, self._forms, self._texts)
        first, done = self.rows, 0
        while done < block.rows:
            self._look_at_clock()
            part = slice(done, min(block.rows, done + self._buffer.size))
            failure = self._execute(recorded.actions(part), first + done, resets)
            mismatch = self._compared(recorded, first + done, part)
            if mismatch is not None or failure is not None:
                return mismatch or failure
            done = part.stop
        return None

    def _look_at_clock(self) -> None:
        most = self._max_seconds
        if most is not None and time.monotonic() - self._began > most:
            raise ReplayImpossible(
                f"Executing {self.rows:,} of {self._reader.rows:,} rows again took more than "
                f"{most:g} s. If you trust where the run comes from, allow more: max_seconds, or "
                "--max-seconds."
            )

    def _execute(self, actions: Iterator[Any], first: int, resets: list[Reset]) -> Mismatch | None:
        """Step through some rows of a block; what comes back is kept in the buffer."""
        self._buffer.clear()
        step, end = self._env.step, self._buffer.end
        for row, action in enumerate(actions, first):
            if resets and resets[0].row == row:
                failure = self._reset_before(row + 1, resets)
                if failure is not None:
                    return failure
            try:
                self.last = result = step(action)
                end(result)
            except Exception as problem:  # the environment's own code
                return Mismatch(row, None, "step", "returned", _shown(problem))
        return None

    def _reset_before(self, end: int, resets: list[Reset]) -> Mismatch | None:
        while resets and resets[0].row < end:
            reset = resets.pop(0)
            try:
                self.last = self._env.reset(seed=reset.seed, options=reset.options)
                check = int(first_words(check_of(self.last[0]))[0])
                self._buffer.keep_first(self.last[0])
            except Exception as problem:  # the environment's own code
                return Mismatch(reset.row, None, "reset", "returned", _shown(problem))
            if check != reset.check:
                return Mismatch(reset.row, None, "reset_check", reset.check, check)
        return None

    def _compared(self, recorded: RecordedRows, first: int, part: slice) -> Mismatch | None:
        """Return the first difference between the buffer and the same rows of the block."""
        count = self._buffer.count
        if not count:
            return None
        part = slice(part.start, part.start + count)
        replayed = self._buffer.columns(narrow=False)
        best: Mismatch | None = None
        for name in self._forms:
            old, new = recorded.column(name, part), replayed[name]
            row = _first_difference(old, new)
            if row is not None and (best is None or first + row < best.row):
                best = _located(first + row, name, old[row], new[row], self._batch)
        for name in self._texts:
            texts = unpack_texts(name, replayed) if name in replayed else [b""] * count
            row = next(
                (i for i, text in enumerate(recorded.texts[name][part]) if text != texts[i]), None
            )
            if row is not None and (best is None or first + row < best.row):
                best = Mismatch(first + row, None, name, "some bytes", "others")
        self.rows = first + count if best is None else best.row
        if best is None:
            self.ends += int(np.count_nonzero(replayed["terminated"] | replayed["truncated"]))
        return best

    def _check_names(self, block: Block) -> None:
        """Refuse columns that nothing is compared with."""
        texts = [*self._texts, *(["action"] if isinstance(self._actions, Coded) else [])]
        known = {leaf.name for leaf in self._actions.leaves} | {*texts}
        known |= {f"{name}.length" for name in texts}
        known |= {*self._forms}
        if unknown := sorted(set(block) - known):
            raise RecordDamaged(
                f"A block has the column {unknown[0]!r:.100}, which is none of this recording.",
                file="blocks.bin",
            )


class RecordedRows:
    """The columns of a block, looked up once; as large as they are stored until they are needed."""

    def __init__(
        self, block: Block, actions: Values, forms: Mapping[str, _Form], texts: list[str]
    ) -> None:
        self._forms = dict(forms)
        for leaf in actions.leaves:
            found = block.get(leaf.name)
            # Floats are kept in the dtype they were given in, which the results depend on.
            dtype = leaf.dtype if found is None or leaf.dtype.kind in "iu" else found.dtype
            self._forms[leaf.name] = (dtype, leaf.shape)
        self._stored = {
            name: stored_column(block, name, *form) for name, form in self._forms.items()
        }
        empty = [b""] * block.rows
        self.texts = {name: unpack_texts(name, block) if name in block else empty for name in texts}
        self._action_texts = unpack_texts("action", block) if isinstance(actions, Coded) else []
        self._actions = actions

    def column(self, name: str, part: slice) -> NDArray[Any]:
        """Return some rows, in the dtype that they were recorded with."""
        return restored(self._stored[name][part], self._forms[name][0])

    def actions(self, part: slice) -> Iterator[Any]:
        """Return the actions of some rows, one after the other."""
        how = self._actions
        if isinstance(how, Coded):
            return map(how.decoded, self._action_texts[part])
        # Copies, because an environment may write to its actions.
        columns = [np.array(self.column(leaf.name, part)) for leaf in how.leaves]
        if how.is_single:
            return iter(columns[0])
        return (how.value(columns, row) for row in range(part.stop - part.start))


def check_subject(recorded: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Refuse a manifest that describes another environment than the one that was built."""
    for name in _DESCRIBED:
        if canonical.dumps(recorded.get(name)) != canonical.dumps(found[name]):
            raise RecordDamaged(
                f"The manifest says {name}={recorded.get(name)!r:.200}, but the environment it "
                f"leads to has {found[name]!r:.200}.",
                file="manifest.json",
            )


def _first_difference(recorded: NDArray[Any], replayed: NDArray[Any]) -> int | None:
    differs = _bits(recorded) != _bits(replayed)
    if not differs.any():
        return None
    return int(np.argmax(differs.reshape(len(differs), -1).any(axis=1)))


def _bits(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of floats as integers, so that only equal bits are equal."""
    if array.dtype.kind != "f":
        return array
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def _located(
    row: int, name: str, old: NDArray[Any], new: NDArray[Any], batch: tuple[int, ...]
) -> Mismatch:
    """Return the mismatch of one row, narrowed to the environment and number that differ."""
    if old.ndim == 0:
        return Mismatch(row, None, name, old.item(), new.item())
    place = tuple(np.argwhere(_bits(old) != _bits(new))[0].tolist())
    index = place[0] if batch else None
    inside = place[1:] if batch else place
    field = name + (f"[{', '.join(map(str, inside))}]" if inside else "")
    return Mismatch(row, index, field, old[place].item(), new[place].item())


def _shown(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {problem}"[:500]


EPISODES = "episodes"
"""The kind of run that a recording of episodes is."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first step and field in which a replay differs from the recording."""

    row: int
    env_index: int | None
    """``None`` if there is one environment only, or the whole row is meant."""
    episode: int | None
    """Number of the environment's episode; ``None`` outside of one, or for a whole row."""
    step: int | None
    """Number of the step within it, from 0."""
    field: str
    """``reward``, ``terminated``, ``truncated``, ``observation…``; ``observation_check`` and
    ``reset_check`` if observations were not stored; ``step`` or ``reset`` if the call failed."""
    recorded: Any
    replayed: Any

    def __str__(self) -> str:
        where = f"row {self.row}"
        if self.env_index is not None:
            where += f", environment {self.env_index}"
        if self.episode is not None:
            where += f", episode {self.episode}, step {self.step}"
        return f"{where}: {self.field} was {self.recorded!r}, now it is {self.replayed!r}"


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of executing a recording again."""

    rows: int
    """Rows that agree."""
    episodes: int
    """Episodes that ended in them."""
    difference: Difference | None
    seconds: float

    @property
    def is_equal(self) -> bool:
        """Whether everything came out the same."""
        return self.difference is None


def replay(
    path: str | os.PathLike[str],
    *,
    env_factory: Callable[[], AnyEnv] | None = None,
    progress: Callable[[int, int], None] | None = None,
    head: str | None = None,
) -> Replay:
    """Execute a recording again and compare every value, bit for bit.

    Args:
        path: The run folder.
        env_factory: Builds the environment; by default it is built from what the manifest says,
            with the code that is registered for its id here.
        progress: Called after each block with the rows done and the rows in all.
        head: The chain head that the run must have; see :func:`~ludus.record.read_run`.

    Raises:
        ReplayImpossible: It is no recording of episodes, or the environment is nondeterministic,
            unknown or cannot be built again; the message says why.
        RecordDamaged: The recording is broken.
        RecordError: There is no run.
    """
    return replay_reader(read_run(path, head=head), env_factory=env_factory, progress=progress)


def replay_reader(
    reader: RunReader,
    *,
    env_factory: Callable[[], AnyEnv] | None = None,
    progress: Callable[[int, int], None] | None = None,
    max_seconds: float | None = None,
) -> Replay:
    """Execute a recording that is open already, for a limited time; as :func:`replay`."""
    start = time.perf_counter()
    if reader.manifest["kind"] != EPISODES:
        raise ReplayImpossible(
            f"{reader.path} is a run of the kind {reader.manifest['kind']!r:.50}; only recordings "
            "of episodes can be executed again."
        )
    env = rebuild(reader.manifest["subject"]) if env_factory is None else env_factory()
    mismatch: Mismatch | None = None
    try:
        playback = Playback(reader, env, max_seconds=max_seconds)
        for mismatch in playback.run():  # noqa: B007, the last one counts
            if progress is not None:
                progress(playback.rows, reader.rows)
    finally:
        env.close()
    difference = None if mismatch is None else _explained(reader, mismatch)
    return Replay(playback.rows, playback.ends, difference, time.perf_counter() - start)


def _explained(reader: RunReader, found: Mismatch) -> Difference:
    """Return the mismatch with the episode and step it lies in."""
    count = reader.manifest["subject"].get("num_envs")
    index = 0 if count is None else found.env_index
    if index is not None:
        for each in episodes(reader, unfinished=True):
            step = found.row - each.first_row
            if each.env_index == index and 0 <= step < each.length:
                return _difference(found, each.number, step)
    return _difference(found, None, None)


def _difference(found: Mismatch, episode: int | None, step: int | None) -> Difference:
    return Difference(
        found.row, found.env_index, episode, step, found.field, found.recorded, found.replayed
    )
