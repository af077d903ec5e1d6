"""Recordings that are open: read once, and again when they have grown."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from pprint import pformat
from typing import Any

from ludus.record.replay.subject import is_onlooker
from ludus.registration.table import registry
from ludus.view.library import Found
from ludus.view.model.recording import Recording, open_recording, stamp_of
from ludus.view.replaying.replayer import Record

__all__ = ["Recordings", "how_to_build", "record_of"]

_MOST = 8
_DEFAULT = frozenset({"OrderEnforcing", "PassiveEnvChecker"})


class Recordings:
    """The recordings that were asked for last. May be used by several threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Recording] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, found: Found) -> Recording:
        """Return the recording as it is now.

        Raises:
            RecordError: It is none of episodes, or it is damaged.
        """
        stamp = stamp_of(found.path, within=found.within)
        with self._lock:
            if stamp in self._kept:
                self._kept.move_to_end(stamp)
                return self._kept[stamp]
        recording = open_recording(found.path, within=found.within)
        with self._lock:
            self._kept[recording.stamp] = recording
            while len(self._kept) > _MOST:
                self._kept.popitem(last=False)
        return recording


def record_of(found: Found, recording: Recording) -> Record:
    """Return what a worker is told about a recording."""
    manifest = recording.reader.manifest_hash
    return Record(found.path, recording.stamp, found.within, manifest)


def how_to_build(subject: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return the call that builds the environment of a recording, and further wrappers it needs."""
    env_id = str(subject.get("id"))
    given = subject.get("kwargs")
    kwargs = dict(given) if isinstance(given, dict) else {}
    for name in ("render_mode", "num_envs", "wrappers"):
        kwargs.pop(name, None)
    spec = registry.get(env_id)
    if spec is not None:
        usual = {**spec.kwargs, "max_episode_steps": spec.max_episode_steps}
        if spec.vector_entry_point is not None:
            usual |= {"vectorization_mode": "vector_entry_point", "autoreset_mode": "NextStep"}
        kwargs = {key: value for key, value in kwargs.items() if usual.get(key, ...) != value}
    if kwargs.get("vectorization_mode") == "async":
        kwargs["vectorization_mode"] = "sync"  # as the worker builds it
    further = []
    for row in subject.get("wrappers") or []:
        name = str(row.get("name"))
        limit = (row.get("kwargs") or {}).get("max_episode_steps")
        if name == "TimeLimit" and "max_episode_steps" not in kwargs:
            if spec is None or limit != spec.max_episode_steps:
                kwargs["max_episode_steps"] = limit
        elif name not in _DEFAULT and not _is_left_out(row):
            further.append(name)
    count = subject.get("num_envs")
    parts = [_written(env_id)] if count is None else [_written(env_id), _written(count)]
    parts += [f"{name}={_written(value)}" for name, value in kwargs.items() if name.isidentifier()]
    return f"ludus.{'make' if count is None else 'make_vec'}({', '.join(parts)})", further


def _is_left_out(row: Mapping[str, Any]) -> bool:
    name = str(row.get("name"))
    return name != "RecordEpisodeStatistics" and is_onlooker(str(row.get("entry_point")))


def _written(value: Any) -> str:
    text = pformat(value, width=200, compact=True).replace("'", '"')
    return text if len(text) <= 300 else "…"
