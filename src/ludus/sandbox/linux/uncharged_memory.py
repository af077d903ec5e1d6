"""Limits on memory that the kernel charges to nobody, enforced from outside by killing processes.

File locks: one ``fcntl(F_SETLK)`` makes up to two, and no limit of the kernel applies to them. A
system call filter cannot count them.

Connections: the kernel charges a connection to a process from ``accept`` until it is closed. Before
and after that nobody is charged for it or for the data in it, and a sandbox with its own network
could connect to itself.

A thread per kind of limit checks all sandboxes of this process ten times a second. What a sandbox
can hoard between two checks is bounded by its processor time.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any, ClassVar

from ludus.sandbox.linux.cgroup_usage import Gauges

__all__ = ["MOST_LOCKS", "Bound", "ConnectionLimit", "LockLimit"]

MOST_LOCKS = 8192
"""Locks that the processes of a sandbox may hold together."""

_PERIOD, _PATIENCE = 0.1, 1.0
_LOCK_OBJECTS = "/sys/kernel/slab/file_lock_cache/objects"
_LOCKS = "/proc/locks"
# Reading each piece of the list takes as long as reading all before it.
_MOST_LINES = 4 * MOST_LOCKS
_SOCKET = 4096
"""Approximate bytes of a connection without data."""
_LARGEST = 1 << 19
"""Approximate bytes that may wait in one."""
_LISTENING, _TIME_WAIT = b"0A", b"06"


class Bound:
    """A limit on the sandbox with the control groups ``groups``, until :meth:`close`.

    ``kills`` counts the processes that were killed for it.
    """

    thread_name: ClassVar[str]

    def __init__(self, groups: Gauges) -> None:
        self._groups = groups
        self.kills = 0
        self._watch = _watch_of(type(self), os.getpid())  # type: ignore[arg-type]
        self._watch.add(self)

    @classmethod
    def check(cls, bounds: frozenset[Any]) -> None:
        """Check the limits of all sandboxes."""
        raise NotImplementedError

    def close(self) -> None:
        """End the limit; doing so twice is harmless."""
        self._watch.remove(self)

    def members(self) -> frozenset[int]:
        """Return the sandbox's processes."""
        return self._groups.members()

    def kill(self, pids: Iterable[int]) -> None:
        """Kill processes, if they are still the sandbox's."""
        for pid in pids:
            with suppress(OSError):
                process = os.pidfd_open(pid)
                try:
                    # While the descriptor is open, the pid stays that process's.
                    if pid in self.members():
                        signal.pidfd_send_signal(process, signal.SIGKILL)
                        self.kills += 1
                finally:
                    os.close(process)


class _Watch:
    """The thread that checks all sandboxes of a process, while there are any."""

    def __init__(self, kind: type[Bound]) -> None:
        self._kind = kind
        self._guard = threading.Lock()
        self._bounds: frozenset[Bound] = frozenset()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, bound: Bound) -> None:
        """Check one more sandbox."""
        with self._guard:
            self._bounds |= {bound}
            if len(self._bounds) == 1:
                self._ended = threading.Event()
                name = self._kind.thread_name
                self._thread = threading.Thread(
                    target=self._run, args=[self._ended], name=name, daemon=True
                )
                self._thread.start()

    def remove(self, bound: Bound) -> None:
        """Check one sandbox less; its checks have ended when this returns."""
        thread = None
        with self._guard:
            self._bounds -= {bound}
            if not self._bounds:
                self._ended.set()
                thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(_PATIENCE)

    def _run(self, ended: threading.Event) -> None:
        while not ended.wait(_PERIOD):
            # Held meanwhile, since the files that are read must stay open.
            with self._guard, suppress(OSError, ValueError):
                self._kind.check(self._bounds)


@cache
def _watch_of(kind: type[Bound], owner: int) -> _Watch:  # noqa: ARG001 - part of the cache's key
    """Return the watch of this process; a forked one has its own, since it has no threads."""
    return _Watch(kind)


class LockLimit(Bound):
    """The limit on the file locks of one sandbox."""

    thread_name = "ludus-sandbox-locks"

    @classmethod
    def check(cls, bounds: frozenset[Any]) -> None:
        """Count the locks of every sandbox and kill the holders of too many."""
        # First one number, the locks of the whole machine; only if there are many, their holders.
        if not _has_many_locks():
            return
        owners = {pid: limit for limit in bounds for pid in limit.members()}
        total: Counter[LockLimit] = Counter()
        holders: set[int] = set()
        for pid in _lock_holders():
            if (limit := owners.get(pid)) is not None:
                holders.add(pid)
                total[limit] += 1
                if total[limit] > MOST_LOCKS:
                    limit.kill(held for held in holders if owners[held] is limit)
                    return


def _has_many_locks() -> bool:
    """Return whether the machine has more locks than one sandbox may; true if unknown."""
    try:
        descriptor = os.open(_LOCK_OBJECTS, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return int(os.read(descriptor, 4096).split()[0]) > MOST_LOCKS
        finally:
            os.close(descriptor)
    except (OSError, IndexError, ValueError):
        return True


def _lock_holders() -> Iterator[int]:
    """Yield the holder of each lock in the machine's list, the newest first, up to a bound."""
    descriptor, seen = os.open(_LOCKS, os.O_RDONLY | os.O_CLOEXEC), 0
    try:
        for line in _lines(descriptor):
            # "1: POSIX  ADVISORY  WRITE 4711 00:2a:17 0 0"; one that waits has "->" too.
            words = line.split()
            place = 5 if words[1:2] == [b"->"] else 4
            if len(words) > place:
                yield int(words[place])
            seen += 1
            if seen >= _MOST_LINES:
                return
    finally:
        os.close(descriptor)


def _lines(descriptor: int) -> Iterator[bytes]:
    """Yield the lines of a file in ``/proc``, read piece by piece."""
    rest = b""
    while chunk := os.read(descriptor, 1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


class ConnectionLimit(Bound):
    """The limit on connections of one sandbox that no process holds.

    Args:
        groups: the sandbox's control groups.
        folder: the ``/proc`` folder of its network.
        most: bytes that they may hold.
    """

    thread_name = "ludus-sandbox-connections"

    def __init__(self, groups: Gauges, folder: str, most: int) -> None:
        self._most = most
        self._counts, self._tables = (
            # Without IPv6 its files are missing.
            [
                os.open(f"{folder}/{name}", os.O_RDONLY | os.O_CLOEXEC)
                for name in names
                if os.path.exists(f"{folder}/{name}")  # noqa: PTH110 - of this thread
            ]
            for names in (("sockstat", "sockstat6"), ("tcp", "tcp6"))
        )
        super().__init__(groups)

    @classmethod
    def check(cls, bounds: frozenset[Any]) -> None:
        """Kill the processes of sandboxes whose connections hold too much."""
        for limit in bounds:
            limit.hold()

    def close(self) -> None:
        """End the limit; doing so twice is harmless."""
        super().close()
        for descriptor in (*self._counts, *self._tables):
            os.close(descriptor)
        self._counts, self._tables = [], []

    def hold(self) -> None:
        """Kill the sandbox's processes if connections without a process hold too much."""
        # Reading the list takes long where there are many, so first their number is read.
        if self._count() * _LARGEST <= self._most:
            return
        kept = 0
        for waiting in self._waiting():
            kept += _SOCKET + waiting
            if kept > self._most:
                self.kill(self.members())
                return

    def _count(self) -> int:
        total = 0
        for descriptor in self._counts:
            for line in os.pread(descriptor, 4096, 0).splitlines():
                words = line.split()
                if words[0] in (b"TCP:", b"TCP6:"):
                    total += int(words[2])
        return total

    def _waiting(self) -> Iterator[int]:
        """Yield how many bytes wait in each connection that no process has."""
        for descriptor in self._tables:
            os.lseek(descriptor, 0, os.SEEK_SET)
            for line in _lines(descriptor):
                # "0: 0100007F:ABCD 00000000:0000 0A 00000000:00000000 00:… …  uid … inode …"
                words = line.split()
                if words[9:10] == [b"0"] and words[3] not in (_LISTENING, _TIME_WAIT):
                    yield sum(int(word, 16) for word in words[4].split(b":"))
