"""Keeps the head and the tail of a stream in bounded memory, and counts the rest."""

from __future__ import annotations

from collections import deque

__all__ = ["Output"]


class Output:
    """Keeps ``limit`` bytes of a stream: half from its beginning, half from its end."""

    __slots__ = ("_head", "_head_limit", "_tail", "_tail_limit", "_tail_size", "total")

    def __init__(self, limit: int) -> None:
        self._tail_limit = limit // 2
        self._head_limit = limit - self._tail_limit
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.total = 0

    def write(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self.total += len(data)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if not data:
            return
        self._tail.append(data)
        self._tail_size += len(data)
        while self._tail and self._tail_size - len(self._tail[0]) >= self._tail_limit:
            self._tail_size -= len(self._tail.popleft())
        if len(self._tail) > 1024:
            # Many tiny writes must not cost a Python object each.
            self._tail = deque([b"".join(self._tail)])

    @property
    def cut(self) -> int:
        """Bytes of the middle that were dropped."""
        return self.total - len(self._head) - min(self._tail_size, self._tail_limit)

    def value(self) -> bytes:
        """Return the bytes kept: all of them unless :attr:`cut` is positive."""
        tail = b"".join(self._tail)
        return bytes(self._head) + tail[max(0, len(tail) - self._tail_limit) :]
