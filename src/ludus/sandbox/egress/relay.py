"""Moves bytes between two sockets in both directions, within limits."""

from __future__ import annotations

import select
import socket
import threading
import time
from dataclasses import dataclass

from ludus.sandbox.egress.limits import EgressLimits

__all__ = ["Budget", "Flow", "relay"]

_CHUNK = 1 << 16


class Budget:
    """The bytes that all connections of a sandbox may still send and receive."""

    def __init__(self, limits: EgressLimits) -> None:
        self._guard = threading.Lock()
        self._left = {"up": limits.up, "down": limits.down}

    def take(self, way: str, count: int) -> bool:
        """Take bytes of what is left; return whether there were as many."""
        with self._guard:
            self._left[way] = max(-1, self._left[way] - count)
            return self._left[way] >= 0


@dataclass(slots=True)
class Flow:
    """One direction of a connection.

    Attributes:
        way: ``"up"`` to the host, or ``"down"``.
        source: where bytes come from.
        sink: where they go.
        waiting: what is to be sent before anything else.
        most: bytes that are taken from the source; ``None`` takes all.
        moved: bytes that were sent.
    """

    way: str
    source: socket.socket
    sink: socket.socket
    waiting: bytes = b""
    most: int | None = None
    moved: int = 0
    is_read: bool = False
    is_over: bool = False

    def step(self, ready: set[tuple[int, bool]], budget: Budget) -> str:
        """Move what can be moved without waiting; return why no more may be, or an empty text."""
        if self.wants_source and (self.source.fileno(), True) in ready:
            room = _CHUNK if self.most is None else min(_CHUNK, self.most)
            data = self.source.recv(room)
            self.waiting = data
            if not data:
                self.is_read = True
            elif self.most is not None:
                self.most -= len(data)
            if data and not budget.take(self.way, len(data)):
                return f"the limit of bytes {self.way} is reached"
        if self.most == 0:
            self.is_read = True
        if self.waiting and (self.sink.fileno(), False) in ready:
            sent = self.sink.send(self.waiting)
            self.moved += sent
            self.waiting = self.waiting[sent:]
        if self.is_read and not self.waiting and not self.is_over:
            self.is_over = True
            # A body that is complete does not end what is sent after it on a tunnel.
            if self.most is None:
                self.sink.shutdown(socket.SHUT_WR)
        return ""

    @property
    def wants_source(self) -> bool:
        """Whether it waits for the source to send."""
        return not self.is_read and not self.waiting and self.most != 0


def relay(up: Flow, down: Flow, budget: Budget, until: float, idle: float) -> str:
    """Move bytes until both directions, or the one from the host, are over.

    Args:
        up: to the host.
        down: from the host; when it is over, all is.
        budget: what may be moved.
        until: point of the monotonic clock at which the connection is cut off.
        idle: seconds after which one that carries nothing is cut off.

    Returns:
        Why it was cut off; empty if it was not.
    """
    for end in (up.source, up.sink):
        end.setblocking(False)
    try:
        while not down.is_over:
            left = until - time.monotonic()
            if left <= 0:
                return "the connection's time is over"
            ready = _wait(up, down, min(left, idle))
            if not ready:
                return "the connection was idle" if idle < left else "the connection's time is over"
            for flow in (up, down):
                if not flow.is_over and (reason := flow.step(ready, budget)):
                    return reason
    except BlockingIOError:
        return "the connection failed"  # readiness was reported for nothing; too rare to go on
    except OSError:
        return "" if down.moved else "the connection failed"
    return ""


def _wait(up: Flow, down: Flow, seconds: float) -> set[tuple[int, bool]]:
    """Return the sockets that can be read (``True``) or written without waiting."""
    wanted: dict[int, int] = {}
    for flow in (up, down):
        if flow.wants_source:
            number = flow.source.fileno()
            wanted[number] = wanted.get(number, 0) | select.POLLIN
        if flow.waiting or ((flow.is_read or flow.most == 0) and not flow.is_over):
            number = flow.sink.fileno()
            wanted[number] = wanted.get(number, 0) | select.POLLOUT
    poller = select.poll()
    for number, events in wanted.items():
        poller.register(number, events)
    ready = set()
    for number, events in poller.poll(seconds * 1000):
        if wanted[number] & select.POLLIN and events & ~select.POLLOUT:
            ready.add((number, True))
        if wanted[number] & select.POLLOUT and events & ~select.POLLIN:
            ready.add((number, False))
    return ready
