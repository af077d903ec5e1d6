"""A process that bubblewrap has started, and the process namespace that it lives in."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ludus.errors import SandboxError
from ludus.sandbox.backend.stage import read_child_pid
from ludus.sandbox.linux.pidspace import PidSpace, only_child
from ludus.sandbox.process_handle import LocalJob, Pipes

if TYPE_CHECKING:
    from ludus.sandbox.backend.bubblewrap import Bubblewrap
    from ludus.sandbox.linux.freezer import Freezer

__all__ = ["BwrapJob"]


class BwrapJob(LocalJob):
    """A bwrap and the process namespace below it."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        pipes: Pipes,
        info: int,
        sandbox: Bubblewrap,
        *,
        alone: bool,
        nested: bool,
    ) -> None:
        super().__init__(child, pipes)
        self.alone = alone
        self._info, self._sandbox, self._nested = info, sandbox, nested
        self._space: PidSpace | None = None

    @property
    def was_cut_off(self) -> bool:
        """Whether bwrap itself was killed from outside; it only reports what ends below it."""
        return self.poll() is not None and self._of_signal and not self._was_signalled

    def kill(self) -> None:
        """Kill the first process of the namespace, and with it the namespace.

        bwrap then reaps it and exits. If bwrap itself were killed, init would have to reap it,
        which in many containers is a program that reaps nothing.
        """
        if self.poll() is None:
            if space := self._find_space(0.0):
                space.signal_first(signal.SIGKILL)
            else:
                self.signal_child(signal.SIGKILL)

    def abort_command(self) -> None:
        """Signal the shell, then kill everything else in its namespace, or else the shell too."""
        if self.poll() is None:
            if space := self._find_space(1.0):
                space.signal_first(signal.SIGUSR1)
                # The shell may be as quick, and kill what is to kill the others.
                space.kill_others(self._sandbox._owner())
            else:
                self.kill()

    def sweep_background(self) -> bool:
        """Stop the shell and kill everything else, where there is more, or else the shell too."""
        if space := self._space or self._find_space(1.0):
            if self.poll() is None:
                return space.leave_stopped(self._sandbox._owner())
            # bwrap may have been killed from outside, and what is below it about to end.
            space.end()
        elif self.wait(1.0) is None:
            # Its namespace is not found for another reason than that it ended.
            self.kill()
            raise SandboxError(
                "The processes of a shell are not found, so nothing can stop what its commands "
                "left running. Close the sandbox and open another one."
            )
        return False

    def pause(self) -> None:
        """Stop the shell, which is the first process of its namespace, or else kill it."""
        if space := self._space or self._find_space(1.0):
            space.stop_first()
        else:
            self.kill()

    def resume(self) -> None:
        """Let the shell go on."""
        if self._space is not None:
            self._space.signal_first(signal.SIGCONT)

    def join(self, freezer: Freezer) -> None:
        """Put the shell into a control group."""
        if self.poll() is None:
            space = self._find_space(1.0)
            freezer.add(0 if space is None else space.first_pid())

    def close(self) -> None:
        """Kill the namespace, reap and close."""
        super().close()
        self._sandbox._ended(self)
        if self._info >= 0:
            orphaned = os.getpid() == 1 and not self._nested
            if orphaned and (pid := read_child_pid(self._info, 0.0)):
                _reap(pid)
            os.close(self._info)
            self._info = -1
        if self._space is not None:
            self._space.close()

    def _find_space(self, patience: float) -> PidSpace | None:
        """Return the namespace, once bwrap has made it; ``None`` if it cannot be opened."""
        if self._space is None and self._info >= 0:
            pid = read_child_pid(self._info, patience)
            if pid is not None and self._nested:
                # nsenter's child is bwrap, whose child is the one; bwrap's number for it is
                # good in the stage's namespace only.
                pid = only_child(only_child(self.child.pid))
            # While bwrap itself runs it has not reaped its child: the pid is still that one's.
            if pid is not None and self.poll() is None:
                with suppress(OSError):  # it has ended, or no descriptors are left
                    self._space = PidSpace(pid)
        return self._space


def _reap(pid: int) -> None:
    """Reap the first process of a namespace, which bwrap leaves to init: in a container, to us."""
    until = time.monotonic() + 1.0
    with suppress(ChildProcessError):
        while os.waitpid(pid, os.WNOHANG)[0] == 0 and time.monotonic() < until:
            time.sleep(0.001)
