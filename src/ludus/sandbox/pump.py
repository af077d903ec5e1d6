"""Moves the streams of a command without ever blocking, and keeps a bounded part of them."""

from __future__ import annotations

import os
import select
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ludus.sandbox.process_handle import SandboxProcess

__all__ = ["Ending", "Output", "Pump", "discard"]


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


_CHUNK = 1 << 16
_STATUS_LIMIT = 256
# A pipe holds at most this much (fs.pipe-max-size); what is in it when its writers are dead is
# all there is, and a writer that is not dead cannot keep the host reading.
_PIPE_LIMIT = 1 << 20
_IN = select.POLLIN | select.POLLHUP | select.POLLERR


class Ending(Enum):
    """Why pumping stopped."""

    EXIT = "the process ended"
    STATUS = "the shell reported a status"
    TIMEOUT = "the time was over"
    IDLE = "nothing was written for too long"


class Pump:
    """The streams of one command.

    Args:
        job: the process whose pipes are read and written.
        limit: bytes kept of each output stream.
        data: its input, which is closed afterwards unless ``token`` is given.
        token: first word of the shell's status line to wait for; ``None`` waits for the exit.
        on_output: called with each piece of either output stream as it arrives; raises nothing.
    """

    def __init__(
        self,
        job: SandboxProcess,
        limit: int,
        data: bytes = b"",
        token: str | None = None,
        on_output: Callable[[bytes], None] | None = None,
    ) -> None:
        self.job, self._on_output = job, on_output
        self.out, self.err = Output(limit), Output(limit)
        self.status: int | None = None
        self.token = token
        self._data = memoryview(data)
        self._line = b""
        pipes = job.pipes
        self._poll = select.poll()
        self._streams = {pipes.stdout: self.out, pipes.stderr: self.err}
        for descriptor in self._streams:
            self._poll.register(descriptor, _IN)
        self._poll.register(job.exit_fd, _IN)
        if token is not None and pipes.status is not None:
            self._poll.register(pipes.status, _IN)
        self._feed()
        if self._data:
            self._poll.register(pipes.stdin, select.POLLOUT)

    def run(self, deadline: float | None, idle: float | None = None) -> Ending:
        """Read and write until the command ends or a limit is reached.

        May be called again after a limit.

        Args:
            deadline: point of the monotonic clock.
            idle: seconds without output after which to stop.
        """
        quiet_since = time.monotonic()
        while True:
            now = time.monotonic()
            limits = [deadline] if deadline is not None else []
            if idle is not None:
                limits.append(quiet_since + idle)
            if limits and now >= min(limits):
                return Ending.TIMEOUT if deadline is not None and now >= deadline else Ending.IDLE
            patience = (min(limits) - now) * 1000 + 1 if limits else None
            ended = None
            for descriptor, _ in self._poll.poll(patience):
                if descriptor in self._streams:
                    if self._read(descriptor):
                        quiet_since = time.monotonic()
                else:
                    ended = self._other(descriptor) or ended
            if ended is not None:
                self.drain()
                return ended

    def drain(self) -> None:
        """Read what the pipes still hold."""
        # Asking first is cheaper than a read that fails.
        left = dict.fromkeys(self._streams, _PIPE_LIMIT)
        while ready := [fd for fd, _ in self._poll.poll(0) if left.get(fd, 0) > 0]:
            for descriptor in ready:
                left[descriptor] -= self._read(descriptor) or _PIPE_LIMIT

    def _other(self, descriptor: int) -> Ending | None:
        pipes = self.job.pipes
        if descriptor == pipes.status:
            return self._read_status(descriptor)
        if descriptor == pipes.stdin:
            self._feed()
            return None
        # The exit may come with, or before, a status line that is still in its pipe.
        if self.token is not None and pipes.status is not None:
            return self._read_status(pipes.status) or Ending.EXIT
        return Ending.EXIT

    def _read(self, descriptor: int) -> int:
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return 0
        if chunk:
            self._streams[descriptor].write(chunk)
            if self._on_output is not None:
                self._on_output(chunk)
        else:
            self._forget(descriptor)
            del self._streams[descriptor]
        return len(chunk)

    def _read_status(self, descriptor: int) -> Ending | None:
        try:
            chunk = os.read(descriptor, _STATUS_LIMIT)
        except BlockingIOError:
            return None
        if not chunk:
            self._forget(descriptor)
            return None
        # Only the token counts: whatever else a command writes here neither ends the wait nor
        # fills the host's memory.
        self._line = (self._line + chunk)[-2 * _STATUS_LIMIT :]
        _, found, rest = self._line.partition((self.token or "").encode() + b" ")
        number, newline, _ = rest.partition(b"\n")
        if not (found and newline and number.isdigit() and len(number) <= 3):
            return None
        self.status = int(number)
        return Ending.STATUS

    def _feed(self) -> None:
        stdin = self.job.pipes.stdin
        if self._data:
            try:
                self._data = self._data[os.write(stdin, self._data[:_CHUNK]) :]
            except BlockingIOError:
                return
            except BrokenPipeError:
                self._data = self._data[:0]
        if self._data:
            return
        self._forget(stdin)
        if self.token is None:
            self.job.pipes.close_stdin()

    def _forget(self, descriptor: int) -> None:
        with suppress(KeyError, ValueError):
            self._poll.unregister(descriptor)


def discard(job: SandboxProcess) -> None:
    """Throw away what came through the pipes of a job since its last command."""
    poller = select.poll()
    for descriptor in (job.pipes.stdout, job.pipes.stderr):
        poller.register(descriptor, _IN)
    for _ in range(_PIPE_LIMIT // _CHUNK):
        ready = poller.poll(0)
        if not ready:
            break
        for descriptor, _ in ready:
            with suppress(BlockingIOError):
                os.read(descriptor, _CHUNK)
