"""Runs a game engine as a child process with limits, and exchanges lines with it."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import subprocess
import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path

from ludus.envs.board.opponents.settings import EngineSettings
from ludus.errors import Error

__all__ = ["EngineProcess"]

_LONGEST_ANSWER = 1 << 22
_PATIENCE = 0.5
"""Seconds that an engine has to exit by itself."""
_VARIABLES = ("HOME", "LANG", "LD_LIBRARY_PATH", "PATH", "TMPDIR")
"""Environment variables that an engine inherits; others, such as keys, are not passed on."""


class EngineProcess:
    """Runs ``command`` until :meth:`close`, garbage collection, or the end of this process.

    In a process forked from this one the engine is not :attr:`alive`, and is not stopped.

    Raises:
        Error: It cannot be started.
    """

    def __init__(self, command: Sequence[str], settings: EngineSettings) -> None:
        self.name = Path(command[0]).name
        self.settings = settings
        self._buffer = b""
        self._deadline = 0.0
        try:
            self._process = subprocess.Popen(  # noqa: S603 - an engine that the user chose
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,
                env={name: os.environ[name] for name in _VARIABLES if name in os.environ},
            )
        except OSError as problem:
            raise Error(f"The engine {command[0]!r} cannot be started: {problem}.") from problem
        self._input, self._output = _descriptors(self._process)
        self._end = weakref.finalize(self, _end, self._process, os.getpid())
        os.set_blocking(self._input, False)
        memory = settings.memory_mb << 20
        self._limit(resource.RLIMIT_AS, memory, memory)
        self._limit(resource.RLIMIT_CORE, 0, 0)

    def _limit(self, kind: int, soft: int, hard: int) -> None:
        # An engine that has already ended is reported by the first question.
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(self._process.pid, kind, (soft, hard))

    def write(self, *lines: str) -> None:
        """Send a question of one or more lines, and start the timeout of the answer.

        Raises:
            Error: The engine has ended, or does not read.
        """
        if not self.alive:
            raise self._failure("is gone")
        self._deadline = time.monotonic() + self.settings.seconds
        allowed = _used_seconds(self._process.pid) + int(self.settings.seconds) + 2
        self._limit(resource.RLIMIT_CPU, allowed, resource.RLIM_INFINITY)
        rest = "".join(f"{line}\n" for line in lines).encode()
        while rest:
            _, ready, _ = select.select([], [self._input], [], self._time_left())
            try:
                rest = rest[os.write(self._input, rest) :] if ready else rest
            except BrokenPipeError as problem:
                raise self._failure("is gone") from problem

    def read_until(self, done: Callable[[str], bool]) -> list[str]:
        """Return the lines up to the first one that ``done`` accepts.

        Raises:
            Error: The engine ended, wrote too much, or took too long.
        """
        lines: list[str] = []
        size = 0
        while not lines or not done(lines[-1]):
            while b"\n" not in self._buffer:
                size += self._receive()
                if size > _LONGEST_ANSWER:
                    raise self._failure("wrote an answer without end")
            line, _, self._buffer = self._buffer.partition(b"\n")
            lines.append(line.decode(errors="replace").rstrip("\r"))
        return lines

    def _receive(self) -> int:
        if not self._end.alive:
            raise self._failure("is closed")
        ready, _, _ = select.select([self._output], [], [], self._time_left())
        received = os.read(self._output, 65536) if ready else b""
        if ready and not received:
            raise self._failure("ended by itself")
        self._buffer += received
        return len(received)

    def _time_left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise self._failure(f"gave no answer in {self.settings.seconds} s")
        return left

    def _failure(self, what: str) -> Error:
        if self._end.alive and self.alive:
            _kill(self._process)
        self.close()
        return Error(
            f"The engine {self.name!r} {what} (exit status {self._process.returncode}). Reset the "
            "environment to start another, or choose another opponent."
        )

    @property
    def alive(self) -> bool:
        """Whether the engine runs."""
        return self._end.alive and _is_mine(self._process) and not _has_ended(self._process)

    def close(self) -> None:
        """Stop the engine and wait for it; a second call does nothing."""
        self._end()


def _descriptors(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    if process.stdin is None or process.stdout is None:
        raise Error("The engine was started without pipes.")
    return process.stdin.fileno(), process.stdout.fileno()


def _used_seconds(pid: int) -> int:
    """Return the CPU time of a process so far, 0 if it is unknown."""
    try:
        # The name of the program, in parentheses, may contain spaces.
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(words[11]) + int(words[12])) // os.sysconf("SC_CLK_TCK")


def _is_mine(process: subprocess.Popen[bytes]) -> bool:
    try:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    # Waits without reaping, so that the process id cannot be reused in the meantime.
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
    if os.getpid() != owner or not _is_mine(process):
        return
    # Engines exit when their input is closed; the signal is for others, and for their children.
    until = time.monotonic() + _PATIENCE
    while not _has_ended(process) and time.monotonic() < until:
        time.sleep(0.005)
    _kill(process)
    process.wait()
