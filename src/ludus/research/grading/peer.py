"""The host's end of the channel to a hostile program in a sandbox.

It never waits longer, or keeps more bytes, than its caller allows.
"""

from __future__ import annotations

import os
import select
import time
from typing import NoReturn

from ludus import logger
from ludus.errors import SandboxError
from ludus.research.grading.protocol import HEADER, Frame
from ludus.sandbox.contract import Sandbox
from ludus.sandbox.process_handle import SandboxProcess
from ludus.sandbox.pump import Output
from ludus.terminal_text import excerpt

__all__ = ["Peer", "PeerFault", "PeerLate"]

_CHUNK = 1 << 20
_KEPT = 16 << 10


class PeerFault(Exception):
    """The program ended, was late, or broke the protocol; the text is a clause that says so.

    Attributes:
        told: the same without anything that the program has chosen.
    """

    def __init__(self, text: str, told: str = "broke the protocol of its sandbox") -> None:
        super().__init__(text)
        self.told = told


class PeerLate(PeerFault):
    """The program did not answer in time."""

    def __init__(self) -> None:
        super().__init__("it did not answer in time", "did not answer in time")


class Peer:
    """A program in a sandbox.

    Args:
        sandbox: where it runs; owned by this object.
        job: the program.
        printed_bytes: what it may print; ``None``: any amount, of which little is kept.
    """

    def __init__(
        self, sandbox: Sandbox, job: SandboxProcess, *, printed_bytes: int | None = None
    ) -> None:
        self.sandbox, self.job = sandbox, job
        self._printed_bytes = printed_bytes
        self._said = Output(_KEPT)
        self._listens = True
        self._kills = sandbox._oom_kills()

    def send(self, data: bytes, deadline: float) -> None:
        """Send a frame.

        Raises:
            PeerFault: the program does not read it.
        """
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self.job.pipes.stdin, rest[:_CHUNK]) :]
            except BlockingIOError:
                self._wait(self.job.pipes.stdin, select.POLLOUT, deadline)
            except OSError:
                self._ended()

    def receive(self, limit: int, deadline: float) -> Frame:
        """Return the next frame, whole by a deadline, with at most ``limit`` bytes of payload.

        Raises:
            PeerFault: it does not come.
        """
        token, kind, size, number = HEADER.unpack(self._read(HEADER.size, deadline))
        if size > limit:
            raise PeerFault(f"it announced a message of {size:,} bytes; at most {limit:,}")
        return Frame(token, kind, number, self._read(size, deadline))

    def is_silent(self) -> bool:
        """Whether nothing has been sent without a question."""
        poller = select.poll()
        poller.register(self.job.pipes.stdout, select.POLLIN)
        return not any(event & select.POLLIN for _, event in poller.poll(0))

    def printed(self) -> str:
        """Return the end of what it printed, fit for a terminal."""
        self._listen()
        said = self._said.value().decode("utf-8", "replace")
        return "\n".join(excerpt(said, 1500, tail=True).splitlines()[-12:])

    def was_cut_off(self) -> bool:
        """Whether the program, or its sandbox, was ended from outside."""
        return not self._ran_out_of_memory() and self.sandbox._was_cut_off(self.job)

    def close(self) -> None:
        """Kill the program and close the sandbox.

        Errors become warnings, since the program may have caused them and the outcome stands. The
        next sweep removes the rest.
        """
        for close in (self.job.close, self.sandbox.close):
            try:
                close()
            except (SandboxError, OSError) as problem:
                logger.warn(f"A sandbox of a grading could not be closed. {problem}")

    def _read(self, size: int, deadline: float) -> bytes:
        found = bytearray()
        while len(found) < size:
            # Before each piece: one that drips is late all the same.
            if time.monotonic() >= deadline:
                raise PeerLate
            try:
                # No more than is due: what follows is out of turn.
                piece = os.read(self.job.pipes.stdout, min(size - len(found), _CHUNK))
            except BlockingIOError:
                self._wait(self.job.pipes.stdout, select.POLLIN, deadline)
                continue
            except OSError:
                piece = b""
            if not piece:
                self._ended()
            found += piece
        return bytes(found)

    def _wait(self, descriptor: int, event: int, deadline: float) -> None:
        """Wait for a pipe, and listen to what is printed meanwhile."""
        poller = select.poll()
        poller.register(descriptor, event)
        poller.register(self.job.exit_fd, select.POLLIN)
        if self._listens:
            poller.register(self.job.pipes.stderr, select.POLLIN)
        left = deadline - time.monotonic()
        ready = dict(poller.poll(left * 1000)) if left > 0 else {}
        if not ready:
            raise PeerLate
        if self.job.pipes.stderr in ready:
            self._listen()
            most = self._printed_bytes
            if most is not None and self._said.total > most:
                raise PeerFault(f"it printed more than {most:,} bytes", "printed too much")
        elif descriptor not in ready:
            self._ended()

    def _listen(self) -> None:
        try:
            piece = os.read(self.job.pipes.stderr, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        self._listens = bool(piece)
        self._said.write(piece)

    def _ended(self) -> NoReturn:
        status = self.job.wait(2.0)
        if self._ran_out_of_memory():
            raise PeerFault("it ran out of memory", "ran out of memory")
        ended = "ended before it had answered"
        if status is None:
            raise PeerFault("it closed its side of the channel", ended)
        if status > 128:
            raise PeerFault(f"it was killed by signal {status - 128}", ended)
        raise PeerFault(f"it ended with exit code {status}", ended)

    def _ran_out_of_memory(self) -> bool:
        try:
            return self.sandbox._oom_kills() > self._kills
        except OSError:
            return False  # the sandbox is gone
