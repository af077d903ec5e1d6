"""Bounds the memory of connections that no process holds.

The kernel charges a connection to a process from ``accept`` until it is closed. Before and after
that nobody is charged for it or for the data in it: a sandbox with its own network could connect to
itself and fill the host's memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache

from ludus.sandbox.linux.cgroup_usage import Gauges
from ludus.sandbox.linux.watching import Bound, Watch

__all__ = ["ConnectionLimit"]

_SOCKET = 4096
"""Approximate bytes of a connection without data."""
_LARGEST = 1 << 19
"""Approximate bytes that may wait in one."""
_LISTENING, _TIME_WAIT = b"0A", b"06"


class ConnectionLimit(Bound):
    """The limit of one sandbox.

    Args:
        groups: the sandbox's control groups.
        folder: the ``/proc`` folder of its network.
        most: bytes that connections without a process may hold.
    """

    def __init__(self, groups: Gauges, folder: str, most: int) -> None:
        super().__init__(groups)
        self._most = most
        self._counts, self._tables = (
            # Without the newer protocol its files are missing.
            [
                os.open(f"{folder}/{name}", os.O_RDONLY | os.O_CLOEXEC)
                for name in names
                if os.path.exists(f"{folder}/{name}")  # noqa: PTH110 - of this thread
            ]
            for names in (("sockstat", "sockstat6"), ("tcp", "tcp6"))
        )
        self._watch = _watch_of(os.getpid())
        self._watch.add(self)

    def close(self) -> None:
        """End the limit; doing so twice is harmless."""
        self._watch.remove(self)
        for descriptor in (*self._counts, *self._tables):
            os.close(descriptor)
        self._counts, self._tables = [], []

    def hold(self) -> None:
        """Kill the sandbox's processes if connections without a process hold too much."""
        # The list takes long where there are many, so it is read only if they could be too many.
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
            rest = b""
            while chunk := os.read(descriptor, 1 << 16):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    # "0: 0100007F:ABCD 00000000:0000 0A 00000000:00000000 00:… …  uid … inode …"
                    words = line.split()
                    if words[9:10] == [b"0"] and words[3] not in (_LISTENING, _TIME_WAIT):
                        yield sum(int(word, 16) for word in words[4].split(b":"))


@cache
def _watch_of(owner: int) -> Watch[ConnectionLimit]:  # noqa: ARG001 - what is kept is kept by it
    """Return the watch of this process; a forked one has its own, since threads stay behind."""
    return Watch("ludus-sandbox-connections", _look)


def _look(limits: frozenset[ConnectionLimit]) -> None:
    for limit in limits:
        limit.hold()
