"""The host's handle of a process in a sandbox: its pipes, its exit status, and how to kill it.

Whatever comes through the pipes is hostile. They never block the host, and holding the other end
open does not make it wait.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ludus.sandbox.policy import check_variable

if TYPE_CHECKING:
    from ludus.sandbox.linux.freezer import Freezer

__all__ = [
    "ENDING",
    "LocalJob",
    "Pipes",
    "SandboxCommand",
    "SandboxProcess",
    "check_command",
    "exit_status",
]


ENDING = 10.0
"""Seconds in which a tree that was killed has ended, on a busy machine too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxCommand:
    """What a backend is asked to start.

    Attributes:
        argv: program and arguments, found inside the sandbox.
        env: its whole environment.
        cwd: folder inside the sandbox.
        pass_fds: host descriptors it inherits under the same numbers.
        is_shell: whether it is the persistent shell, which has a status channel and, where the
            backend has process namespaces, is the first process of one.
    """

    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = "/workspace"
    pass_fds: tuple[int, ...] = ()
    is_shell: bool = False


def check_command(argv: Sequence[str], cwd: str | None, env: Mapping[str, str]) -> None:
    """Check the arguments of a command.

    Raises:
        ValueError: no list of strings, or something that no program accepts.
    """
    if isinstance(argv, str) or not argv or not all(isinstance(word, str) for word in argv):
        raise ValueError(
            f"argv is {argv!r}; expected a list of strings such as ['python3', 'main.py']. "
            "A line of shell belongs in Shell.run."
        )
    if any("\0" in word for word in (*argv, cwd or "")):
        raise ValueError("argv or cwd hold a NUL character.")
    for key, text in env.items():
        check_variable(key, text, "env")


class Pipes:
    """Both ends of the pipes of a job; the child's are closed once it has them."""

    def __init__(self, *, status: bool) -> None:
        self._guard = threading.Lock()
        self.child_stdin, self.stdin = os.pipe()
        self.stdout, self.child_stdout = os.pipe()
        self.stderr, self.child_stderr = os.pipe()
        self.status: int | None = None
        self.child_status: int | None = None
        if status:
            self.status, low = os.pipe()
            # Beyond the numbers that the shell gives its own descriptors.
            self.child_status = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, 100)
            os.close(low)
        for descriptor in (self.stdin, self.stdout, self.stderr, self.status):
            if descriptor is not None:
                os.set_blocking(descriptor, False)

    @property
    def status_target(self) -> str:
        """What a shell with the status channel calls it, while the child's end is open."""
        number = self.child_status
        return "" if number is None else f">&{number} {number}>&-"

    def close_child(self) -> None:
        """Close the ends that belong to the child."""
        for name in ("child_stdin", "child_stdout", "child_stderr", "child_status"):
            self._close(name)

    def close_stdin(self) -> None:
        """Let the process read the end of its input."""
        self._close("stdin")

    def close(self) -> None:
        """Close every end still open."""
        self.close_child()
        for name in ("stdin", "stdout", "stderr", "status"):
            self._close(name)

    def _close(self, name: str) -> None:
        with self._guard:
            descriptor = getattr(self, name)
            setattr(self, name, None if name.endswith("status") else -1)
        if descriptor is not None and descriptor >= 0:
            os.close(descriptor)


class SandboxProcess(ABC):
    """A running process of a sandbox and everything that it starts.

    Attributes:
        pipes: the host's ends, none of which blocks.
        exit_fd: becomes readable when the process has ended.
        alone: whether it is the first process of its own process namespace.
        status_target: what follows ``99`` in the shell's redirection to its status channel.
    """

    pipes: Pipes
    exit_fd: int
    alone: bool = False
    status_target: str = ""

    @property
    def was_cut_off(self) -> bool:
        """Whether it was ended from outside the sandbox; ``False`` where that is unknown."""
        return False

    @property
    def is_closed(self) -> bool:
        """Whether it holds nothing any more."""
        return self.exit_fd < 0

    @abstractmethod
    def poll(self) -> int | None:
        """Return the exit status if the process has ended."""

    @abstractmethod
    def kill(self) -> None:
        """Kill the process and all that it started; doing so twice is harmless."""

    @abstractmethod
    def abort_command(self) -> None:
        """Signal the shell to drop its command (SIGUSR1), then kill all it started."""

    def sweep_background(self) -> bool:
        """Kill what a finished command of a shell left running, from outside; wait for its end.

        Returns:
            Whether the shell had to be killed as well.

        Raises:
            SandboxError: something does not end, or is not found.
        """
        return False  # every command has its own kernel

    def pause(self) -> None:  # noqa: B027 - where the shell cannot be stopped from outside
        """Stop the shell itself between commands, with all that was loaded into it."""

    def resume(self) -> None:  # noqa: B027 - see pause
        """Let the shell go on; doing so twice is harmless."""

    def join(self, freezer: Freezer) -> None:  # noqa: B027 - where there are no such groups
        """Put the shell into a control group.

        Raises:
            SandboxError: the kernel refuses it.
        """

    def wait(self, timeout: float | None = None) -> int | None:
        """Return the exit status, or ``None`` if the process has not ended in time."""
        if self.poll() is None:
            poller = select.poll()
            poller.register(self.exit_fd, select.POLLIN)
            poller.poll(None if timeout is None else max(0, timeout) * 1000)
        return self.poll()

    def close(self) -> None:
        """Kill the tree, reap it and close the pipes."""
        self.kill()
        self.wait(5.0)
        self.pipes.close()


class LocalJob(SandboxProcess):
    """A job whose first process, or whose launcher, is a child of this process."""

    def __init__(self, child: subprocess.Popen[bytes], pipes: Pipes) -> None:
        self.child = child
        self.pipes = pipes
        self.exit_fd = os.pidfd_open(child.pid)
        self.cpu_seconds = 0.0
        self.status_target = pipes.status_target
        self._status: int | None = None
        self._of_signal = self._was_signalled = False
        self._guard = threading.RLock()

    def poll(self) -> int | None:
        """Return the exit status if the child has ended, reaping it with what it used."""
        with self._guard:
            if self._status is None:
                try:
                    pid, status, used = os.wait4(self.child.pid, os.WNOHANG)
                except ChildProcessError:
                    pid, status, used = self.child.pid, 255 << 8, None
                if pid == 0:
                    return None
                if used is not None:
                    self.cpu_seconds = used.ru_utime + used.ru_stime
                code = os.waitstatus_to_exitcode(status)
                self._status, self._of_signal = exit_status(code), code < 0
                # Otherwise Popen would wait for a child that is gone, and warn.
                self.child.returncode = self._status
            return self._status

    def close(self) -> None:
        """Kill the tree, reap it and close the descriptors."""
        self.kill()
        if self.wait(ENDING) is None:
            self.signal_child(signal.SIGKILL)
        super().close()
        with self._guard:
            if self.exit_fd >= 0:
                os.close(self.exit_fd)
                self.exit_fd = -1

    def signal_child(self, number: signal.Signals) -> None:
        """Send a signal to the child itself, unless it has been reaped."""
        with self._guard, suppress(ProcessLookupError):
            if self._status is None and self.exit_fd >= 0:
                self._was_signalled = True
                signal.pidfd_send_signal(self.exit_fd, number)


def exit_status(code: int) -> int:
    """Return the status as a shell gives it: 128 + n for signal n."""
    return code if code >= 0 else 128 - code
