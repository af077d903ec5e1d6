"""A recorded environment that can be brought to any moment of its recording."""

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.codec import encode
from ludus.core.vector_env import VectorEnv
from ludus.errors import Error, ReplayImpossible
from ludus.record.episodes.row_buffer import first_words
from ludus.record.format.values import check_of, values_of
from ludus.record.replay.rebuild import rebuild
from ludus.record.replay.replay import EPISODES, RecordedRows, check_subject
from ludus.record.replay.subject import AnyEnv, describe
from ludus.record.run.reader import RunReader
from ludus.view.replaying.drawing import DRAWN, render_mode_of
from ludus.view.replaying.timeline import Place, Timeline, after, before

__all__ = ["NotThereYet", "Playhead"]

_CHUNK = 256
_MOST_KEYFRAMES = 64
_KEYFRAME_BYTES = 2**20
_ROWS_BETWEEN = 500
_ROWS_PER_LOOK = 16
_FORGETFUL = frozenset({"OrderEnforcing", "PassiveEnvChecker", "TimeLimit"})
"""Wrappers after whose seeded reset nothing is left of what was before."""


class NotThereYet(Error):
    """The time for one request is over; ``row`` was reached, and a further request goes on."""

    def __init__(self, row: int) -> None:
        super().__init__(f"The recording is being executed again; row {row} is reached.")
        self.row = row


class Playhead:
    """Executes a recording up to any moment, from the nearest state that is known.

    Known are states kept on the way and resets with a seed. What a step returns is compared with
    the recording; :attr:`difference` is the first row in which it differs.

    Raises:
        ReplayImpossible: The environment cannot be built again.
        RecordDamaged: The recording is broken.
    """

    def __init__(self, reader: RunReader) -> None:
        manifest = reader.manifest
        if manifest["kind"] != EPISODES:
            raise ReplayImpossible(f"A run of the kind {manifest['kind']!r:.50} has no frames.")
        self._reader = reader
        self.timeline = Timeline(reader)
        self._subject = manifest["subject"]
        self.env, self.render_mode = _built(self._subject)
        self._actions = values_of("action", self.env.action_space)
        observations = values_of("observation", self.env.observation_space)
        stored = manifest["subject"].get("observations") is True
        check_subject(
            manifest["subject"], describe(self.env, self._actions, observations, stored=stored)
        )
        batch = (self.env.num_envs,) if isinstance(self.env, VectorEnv) else ()
        self._forms = {
            "reward": (np.dtype(np.float64), batch),
            "terminated": (np.dtype(np.bool_), batch),
            "truncated": (np.dtype(np.bool_), batch),
            "observation_check": (np.dtype(np.uint64), ()),
        }
        self._forgets = not batch and _forgets_at_reset(manifest["subject"])
        self._keyframes: dict[int, Any] = {}
        self._keeps = True
        self._block: tuple[Place, RecordedRows] | None = None
        self._feed: tuple[int, Iterator[Any]] | None = None
        self.moment: int | None = -1
        """Where it stands; ``None`` if that is unknown, because a call failed."""
        self.observation: Any = None
        """Of the last call; ``None`` before the first."""
        self.difference: int | None = None

    def seek(self, moment: int, until: float = float("inf")) -> None:
        """Bring the environment to a moment.

        Args:
            moment: Which one.
            until: Of ``time.monotonic()``; beyond, it stops on the way.

        Raises:
            NotThereYet: The time is over.
            IndexError: The recording ends before.
        """
        if not 0 <= moment <= 2 * self.timeline.rows:
            raise IndexError(f"The recording has {self.timeline.rows} rows.")
        self._jump(moment)
        while self.moment is not None and self.moment < moment:
            self._advance()
            row = self.moment // 2
            if self.moment % 2 == 0:
                continue
            if row % _ROWS_BETWEEN == 0:
                self.keep()
            if row % _ROWS_PER_LOOK == 0 and time.monotonic() > until and self.moment < moment:
                self.keep()
                raise NotThereYet(row)

    def keep(self) -> None:
        """Keep the present state to come back to, unless there are many or it is large."""
        moment = self.moment
        if moment is None or moment < 0 or not self._keeps or moment in self._keyframes:
            return
        try:
            state = self.env.get_state()
            self._keeps = len(encode(state)) <= _KEYFRAME_BYTES
        except Exception:  # not every environment saves its state, and some say so in their own way
            self._keeps = False
        if not self._keeps:
            return
        if len(self._keyframes) >= _MOST_KEYFRAMES:
            for one in sorted(self._keyframes)[::2]:
                del self._keyframes[one]
        self._keyframes[moment] = (state, copy.deepcopy(self.observation))

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def _jump(self, moment: int) -> None:
        """Go to the nearest known moment that is not later."""
        here = self.moment if self.moment is not None and self.moment <= moment else -2
        known = max((one for one in self._keyframes if one <= moment), default=-2)
        fresh = self._fresh_start(moment)
        if here >= max(known, fresh - 1):
            return
        self._feed = None
        if known >= max(fresh, 0):
            try:
                state, observation = self._keyframes[known]
                self.env.set_state(state)
                self.moment, self.observation = known, copy.deepcopy(observation)
            except Exception:  # code of the environment; it is executed from a reset instead
                self._keyframes.clear()
                self._keeps = False
            else:
                return
        if not self._forgets:
            self.env.close()
            self.env, _ = _built(self._subject)
        self.moment, self.observation = fresh - 1, None

    def _fresh_start(self, moment: int) -> int:
        """Return the latest moment at which a reset makes the past irrelevant, else 0."""
        if self._forgets:
            for reset in self.timeline.resets_back_from(moment // 2):
                if reset.seed is not None and before(reset.row) <= moment:
                    return before(reset.row)
        return 0

    def _advance(self) -> None:
        """Execute the resets before the next row, or its step."""
        moment, self.moment = self.moment, None
        assert moment is not None  # noqa: S101, for the type checker
        row = (moment + 1) // 2
        if moment % 2:
            for reset in self.timeline.resets_before(row):
                self.observation, _ = self.env.reset(seed=reset.seed, options=reset.options)
                self._compare(row, int(first_words(check_of(self.observation))[0]) == reset.check)
            self.moment = before(row)
            return
        row = moment // 2
        (place, recorded), action = self._recorded(row), self._action(row)
        self.observation, reward, terminated, truncated, _ = self.env.step(action)
        part = slice(row - place.first, row - place.first + 1)
        values = {
            "reward": reward,
            "terminated": terminated,
            "truncated": truncated,
            "observation_check": first_words(check_of(self.observation))[0],
        }
        for name, value in values.items():
            old = recorded.column(name, part)[0]
            self._compare(row, _same(old, np.asarray(value, old.dtype)))
        self.moment = after(row)

    def _compare(self, row: int, is_equal: bool) -> None:
        if not is_equal and (self.difference is None or row < self.difference):
            self.difference = row

    def _recorded(self, row: int) -> tuple[Place, RecordedRows]:
        """Return the block that a row lies in."""
        if self._block is None or not 0 <= row - self._block[0].first < self._block[0].rows:
            place = self.timeline.place_of(row)
            block = self._reader.block(place.event)
            self._block = (place, RecordedRows(block, self._actions, self._forms, []))
            self._feed = None
        return self._block

    def _action(self, row: int) -> Any:
        """Return the action of a row; those after it are decoded along with it."""
        place, recorded = self._recorded(row)
        if self._feed is None or self._feed[0] != row:
            start = row - place.first
            part = slice(start, min(start + _CHUNK, place.rows))
            self._feed = (row, recorded.actions(part))
        action = next(self._feed[1], None)
        if action is None:  # the chunk is used up
            self._feed = None
            return self._action(row)
        self._feed = (row + 1, self._feed[1])
        return action


def _same(old: NDArray[Any], new: NDArray[Any]) -> bool:
    if old.shape != new.shape:
        return False
    with contextlib.suppress(TypeError):
        return bool(np.array_equal(old, new, equal_nan=old.dtype.kind == "f"))
    return False


def _forgets_at_reset(subject: Any) -> bool:
    wrappers = [row.get("name") for row in subject.get("wrappers", ()) if isinstance(row, dict)]
    kwargs = subject.get("kwargs")
    return set(wrappers) <= _FORGETFUL and isinstance(kwargs, dict) and "wrappers" not in kwargs


def _built(subject: Any) -> tuple[AnyEnv, str | None]:
    """Build the environment in a render mode that gives frames, if it has one."""
    kwargs = subject.get("kwargs")
    if isinstance(kwargs, dict) and kwargs.get("vectorization_mode") == "async":
        # The same results, without further processes.
        subject = {**subject, "kwargs": {**kwargs, "vectorization_mode": "sync"}}
        kwargs = subject["kwargs"]
    recorded = kwargs.get("render_mode") if isinstance(kwargs, dict) else None
    env = rebuild(subject, checked=True)
    if recorded in DRAWN and env.render_mode == recorded:
        return env, recorded
    mode = render_mode_of(env.metadata)
    if mode is None:
        return env, None
    env.close()
    return rebuild(subject, render_mode=mode, checked=True), mode
