"""Bounds the file locks of sandboxes, for which the kernel charges nobody.

One ``fcntl(F_SETLK)`` makes up to two locks, and no limit of the kernel applies to them: a sandbox
could fill the host's memory with them. A system call filter cannot count them. So they are counted
from outside, ten times a second, and processes of a sandbox that hold too many are killed, as if it
had run out of memory.

First one number is read, the locks of the whole machine; only if there are many, their holders.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from functools import cache

from ludus.sandbox.linux.cgroup_usage import Gauges
from ludus.sandbox.linux.watching import Bound, Watch

__all__ = ["MOST_LOCKS", "LockLimit"]

MOST_LOCKS = 8192
"""Locks that the processes of a sandbox may hold together."""

_OBJECTS = "/sys/kernel/slab/file_lock_cache/objects"
_LOCKS = "/proc/locks"
# Each piece of the list costs as much as all before it.
_LONGEST = 4 * MOST_LOCKS


class LockLimit(Bound):
    """The limit on the locks of one sandbox, given by its control groups."""

    def __init__(self, groups: Gauges) -> None:
        super().__init__(groups)
        self._watch = _watch_of(os.getpid())
        self._watch.add(self)

    def close(self) -> None:
        """End the limit; doing so twice is harmless."""
        self._watch.remove(self)


def _look(limits: frozenset[LockLimit]) -> None:
    """Count the locks of every sandbox and kill those who hold too many."""
    if not _there_are_many():
        return
    owners = {pid: limit for limit in limits for pid in limit.members()}
    total: Counter[LockLimit] = Counter()
    holders: set[int] = set()
    for pid in _holders():
        if (limit := owners.get(pid)) is not None:
            holders.add(pid)
            total[limit] += 1
            if total[limit] > MOST_LOCKS:
                limit.kill(held for held in holders if owners[held] is limit)
                return


def _new_watch() -> Watch[LockLimit]:
    return Watch("ludus-sandbox-locks", _look)


@cache
def _watch_of(owner: int) -> Watch[LockLimit]:  # noqa: ARG001 - what is kept is kept by it
    """Return the watch of this process; a forked one has its own, since threads stay behind."""
    return _new_watch()


def _there_are_many() -> bool:
    """Return whether the machine has more locks than one sandbox may; true if unknown."""
    try:
        return int(_read(_OBJECTS).split()[0]) > MOST_LOCKS
    except (OSError, IndexError, ValueError):
        return True


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 4096)
    finally:
        os.close(descriptor)


def _holders() -> Iterator[int]:
    """Yield the holder of each lock in the machine's list, the newest first, up to a bound."""
    descriptor, rest = os.open(_LOCKS, os.O_RDONLY | os.O_CLOEXEC), b""
    seen = 0
    try:
        while seen < _LONGEST and (chunk := os.read(descriptor, 1 << 16)):
            *lines, rest = (rest + chunk).split(b"\n")
            seen += len(lines)
            for line in lines:
                # "1: POSIX  ADVISORY  WRITE 4711 00:2a:17 0 0"; one that waits has "->" too.
                words = line.split()
                place = 5 if words[1:2] == [b"->"] else 4
                if len(words) > place:
                    yield int(words[place])
    finally:
        os.close(descriptor)
