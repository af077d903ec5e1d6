"""Replays of recordings on request: workers, their limits, and what they have drawn."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import Error
from ludus.view.replaying.child import Child
from ludus.view.replaying.limits import WorkerLimits
from ludus.view.replaying.messages import Message, WorkerFailed

__all__ = ["AHEAD", "Frame", "NotDrawnYet", "Record", "ReplayFailed", "Replayer"]

AHEAD = 32
"""Frames that are drawn at once."""
_WORKERS = 2
_MOST_KNOWN = 1000
_CACHE_BYTES = 2**26
_WORKER = "ludus.view.replaying.worker"
_LOOK_SECONDS = 5.0
_SLOWEST = 3.0


class ReplayFailed(Error):
    """A recording could not be executed again; the text is for the user."""


class NotDrawnYet(Error):
    """The recording is being executed up to the frame; ``row`` is reached."""

    def __init__(self, row: int) -> None:
        super().__init__(f"The recording is being executed again; row {row} is reached.")
        self.row = row


@dataclass(frozen=True, slots=True)
class Record:
    """A recording as it is now.

    Attributes:
        path: Of its folder.
        stamp: Changes whenever the recording does.
        within: A folder above, below which no symbolic link is followed.
        manifest: SHA-256 of its manifest, which says what is executed; empty for any.
    """

    path: Path
    stamp: str
    within: Path | None = None
    manifest: str = ""


@dataclass(frozen=True, slots=True)
class Frame:
    """What an environment looked like: an image (``png``) or characters (``text``)."""

    kind: str
    content: bytes
    difference: int | None = None
    """First row in which the replay differed from the recording, as far as is known."""


class Replayer:
    """Executes recordings again in worker processes, and keeps what they draw.

    A recording is executed only after :meth:`allow`. At most two workers run at a time; those that
    nobody asks are ended.

    Args:
        limits: Of each worker.
        imports: Modules that a worker imports first, because they register environments.
        cache_bytes: Of frames that are kept.
    """

    def __init__(
        self,
        limits: WorkerLimits | None = None,
        *,
        imports: Sequence[str] = (),
        cache_bytes: int = _CACHE_BYTES,
    ) -> None:
        self.limits = limits or WorkerLimits()
        self._imports = list(imports)
        self._most = cache_bytes
        self._cache: OrderedDict[tuple[str, int, int], Frame] = OrderedDict()
        self._bytes = 0
        self._workers: dict[str, Child] = {}
        self._allowed: set[tuple[Path, str]] = set()
        self._lock = threading.RLock()
        self._sweeper: threading.Thread | None = None
        self._about: dict[str, Mapping[str, Any]] = {}

    def allow(self, record: Record) -> None:
        """Let a recording be executed from now on; not another one that takes its place."""
        self._allowed.add((record.path, record.manifest))

    def is_allowed(self, record: Record) -> bool:
        """Whether a recording may be executed."""
        return (record.path, record.manifest) in self._allowed

    def about(self, record: Record) -> Mapping[str, Any]:
        """Return ``render_mode``, ``fps`` and ``rows``; raises as :meth:`frame`."""
        if record.stamp not in self._about:
            if len(self._about) >= _MOST_KNOWN:
                self._about.clear()
            self._about[record.stamp] = self._ask(record, {"op": "about"}).data
        return self._about[record.stamp]

    def frame(self, record: Record, moment: int, env: int, last: int) -> Frame:
        """Return the frame of a moment; those after it, up to ``last``, are drawn along with it.

        Raises:
            NotDrawnYet: The recording is long; ask again.
            ReplayFailed: It cannot be executed or drawn.
        """
        found = self._cached(record, moment, env)
        if found is not None:
            return found
        moments = [moment]
        while len(moments) < AHEAD and (following := _next(moments[-1])) <= last:
            moments.append(following)
        request = {"op": "frames", "moments": moments, "env": env, "seconds": _SLOWEST}
        answer = self._ask(record, request, unless=(moment, env))
        if answer is not None:
            self._keep(record, env, answer)
        found = self._cached(record, moment, env)
        if found is None:
            raise ReplayFailed("The worker process drew something else.")
        return found

    def state(self, record: Record, moment: int) -> bytes:
        """Return the state at a moment as a state file; raises as :meth:`frame`."""
        answer = self._ask(record, {"op": "state", "moment": moment, "seconds": _SLOWEST})
        if len(answer.payloads) != 1:
            raise ReplayFailed("The worker process sent no state.")
        return bytes(answer.payloads[0])

    def observations(self, record: Record, moments: Sequence[int], env: int) -> NDArray[Any]:
        """Return the first numbers of the observations at some moments; raises as :meth:`frame`."""
        request = {"op": "observations", "moments": list(moments), "env": env}
        answer = self._ask(record, {**request, "seconds": _SLOWEST})
        width = answer.data.get("width")
        if type(width) is not int or len(answer.payloads) != 1:
            raise ReplayFailed("The worker process sent no observations.")
        table = np.frombuffer(answer.payloads[0], np.float64)
        if table.size != width * len(moments):
            raise ReplayFailed("The worker process sent observations of another size.")
        return table.reshape(len(moments), width)

    def close(self) -> None:
        """Stop all workers."""
        with self._lock:
            workers, self._workers = list(self._workers.values()), {}
        for worker in workers:
            worker.close()

    @property
    def pids(self) -> list[int]:
        """The process ids of the workers."""
        with self._lock:
            return [worker.pid for worker in self._workers.values()]

    def _ask(
        self, record: Record, request: Mapping[str, Any], unless: tuple[int, int] | None = None
    ) -> Any:
        """Ask the worker of a recording; ``None`` if another thread has had the frame drawn."""
        if not self.is_allowed(record):
            raise ReplayFailed("Executing this recording again was not asked for.")
        worker = self._worker(record)
        try:
            with worker.reserved():
                if unless is not None and self._cached(record, *unless) is not None:
                    return None
                answer = worker.ask(request)
        except WorkerFailed as problem:
            self._drop(record.stamp, worker)
            raise ReplayFailed(str(problem)) from problem
        if "reached" in answer.data:
            raise NotDrawnYet(int(answer.data["reached"]))
        if "error" in answer.data:
            raise ReplayFailed(str(answer.data["error"]))
        return answer

    def _worker(self, record: Record) -> Child:
        with self._lock:
            worker = self._workers.get(record.stamp)
            if worker is not None and worker.is_alive:
                return worker
            idle = [stamp for stamp, one in self._workers.items() if not one.is_alive]
            alive = [(one.used, stamp) for stamp, one in self._workers.items() if one.is_alive]
            if len(alive) >= _WORKERS:
                idle.append(min(alive)[1])
            for stamp in idle:
                self._workers.pop(stamp).close()
            order = {
                "path": str(record.path),
                "within": None if record.within is None else str(record.within),
                "manifest": record.manifest,
                "imports": self._imports,
            }
            worker = self._workers[record.stamp] = Child(_WORKER, order, self.limits)
            if self._sweeper is None or not self._sweeper.is_alive():
                self._sweeper = threading.Thread(target=self._sweep, daemon=True)
                self._sweeper.start()
            return worker

    def _drop(self, stamp: str, worker: Child) -> None:
        with self._lock:
            if self._workers.get(stamp) is worker:
                del self._workers[stamp]
        worker.close()

    def _sweep(self) -> None:
        """End workers that nobody asks; return when there are none."""
        while True:
            time.sleep(min(_LOOK_SECONDS, self.limits.idle_seconds / 2))
            with self._lock:
                now = time.monotonic()
                for stamp, worker in list(self._workers.items()):
                    if not worker.is_busy and now - worker.used > self.limits.idle_seconds:
                        del self._workers[stamp]
                        worker.close()
                if not self._workers:
                    self._sweeper = None
                    return

    def _cached(self, record: Record, moment: int, env: int) -> Frame | None:
        key = (record.stamp, moment, env)
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
        return None

    def _keep(self, record: Record, env: int, answer: Message) -> None:
        kind, difference = answer.data.get("kind"), answer.data.get("difference")
        if kind not in ("png", "text") or type(difference) not in (int, type(None)):
            raise ReplayFailed("The worker process drew something else.")
        with self._lock, contextlib.suppress(TypeError):
            for moment, content in zip(answer.data["moments"], answer.payloads, strict=False):
                old = self._cache.pop((record.stamp, int(moment), env), None)
                self._bytes += len(content) - (0 if old is None else len(old.content))
                self._cache[record.stamp, int(moment), env] = Frame(kind, content, difference)
            while self._bytes > self._most and len(self._cache) > AHEAD:
                self._bytes -= len(self._cache.popitem(last=False)[1].content)


def _next(moment: int) -> int:
    """Return the moment of the following frame: after the row's step, or after the next row's."""
    return moment + 1 if moment % 2 == 0 else moment + 2
