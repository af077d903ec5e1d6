"""Answers the pings of servers while a program computes something else.

Servers ping their clients and drop one that is silent, by default for 20 seconds. A blocking
client reads its connection only while it waits for an answer, and training between two steps may
take longer. One thread of the process looks after all connections, every few seconds.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import Protocol

__all__ = ["attend"]

_SECONDS = 5.0


class _Attended(Protocol):
    def attend(self) -> None:
        """Answer what came without being asked for."""


_connections: weakref.WeakSet[_Attended] = weakref.WeakSet()
_lock = threading.Lock()
_process = 0


def attend(connection: _Attended) -> None:
    """Look after a connection as long as it exists."""
    global _process
    with _lock:
        # A forked process has no threads but its own, and no use for its parent's connections.
        is_new = _process != os.getpid()
        if is_new:
            _connections.clear()
            _process = os.getpid()
        _connections.add(connection)
        if is_new:
            threading.Thread(target=_forever, name="ludus-pings", daemon=True).start()


def _forever() -> None:
    while True:
        time.sleep(_SECONDS)
        with _lock:
            found = list(_connections)
        for connection in found:
            connection.attend()
        del found
