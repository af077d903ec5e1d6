"""The owner's side of the launcher, which starts commands in a running container."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from ludus.errors import SandboxError
from ludus.sandbox.linux.launcher import receive, send
from ludus.sandbox.linux.pidspace import PidSpace, end_space
from ludus.sandbox.process_handle import Pipes, SandboxCommand, SandboxProcess, exit_status

__all__ = ["EnteredJob", "Entrance"]

# Replaces the package, whose imports would cost every sandbox a second.
_BOOT = """
import socket, sys, types
for name, folder in zip(("ludus", "ludus.sandbox", "ludus.sandbox.linux"), sys.argv[1:4]):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [folder]
from ludus.sandbox.linux.launcher import main
main(socket.socket(fileno=int(sys.argv[4])))
"""
_KILLED = 137
_PATIENCE = 20.0

_T = TypeVar("_T")


class Entrance:
    """A launcher for one sandbox; it starts at once, so that it is ready when the container is."""

    def __init__(self) -> None:
        folder = Path(__file__).parent
        self._channel, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.settimeout(_PATIENCE)
        packages = (folder.parents[1], folder.parent, folder)
        words = [*map(str, packages), str(other.fileno())]
        try:
            self._launcher = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-I", "-S", "-B", "-c", _BOOT, *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
                env={},
                cwd="/",
                start_new_session=True,
            )
        except BaseException:
            self._channel.close()
            raise
        finally:
            other.close()

    def open(
        self, settings: Mapping[str, Any], container: int, doors: Sequence[int]
    ) -> dict[str, int]:
        """Enter a container and return descriptors of its writable places.

        Args:
            settings: for ``launcher.main``.
            container: descriptor of the container's first process.
            doors: descriptors by which a process joins the container's control groups.

        Raises:
            SandboxError: the container cannot be entered or set up.
        """
        paper = _paper(settings)
        try:
            send(self._channel, b"enter", [paper, container, *doors])
            said, roots = receive(self._channel)
        except OSError as error:
            raise SandboxError(f"The launcher of the sandbox does not answer: {error}.") from None
        finally:
            os.close(paper)
        places = settings["places"]
        if said != b"ready" or len(roots) != len(places):
            _close(roots)
            raise SandboxError(f"Cannot finish the container: {said.decode(errors='replace')!r}.")
        return dict(zip(places, roots, strict=True))

    def start(self, command: SandboxCommand, uid: int) -> EnteredJob:
        """Start a command as the user ``uid``.

        Raises:
            SandboxError: the container takes no more processes, or has ended.
        """
        pipes = Pipes(status=command.is_shell)
        control, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        control.settimeout(_PATIENCE)
        streams = [pipes.child_stdin, pipes.child_stdout, pipes.child_stderr]
        extra = [*command.pass_fds, *(() if pipes.child_status is None else (pipes.child_status,))]
        paper = _paper(
            {
                "argv": command.argv,
                "env": dict(command.env),
                "cwd": command.cwd,
                "descriptors": [0, 1, 2, *extra],
                "is_shell": command.is_shell,
            }
        )
        try:
            send(self._channel, b"run", [paper, other.fileno(), *streams, *extra])
            other.close()
            said, found = receive(control)
            if said != b"started" or len(found) != 1:
                _close(found)
                words = said.decode(errors="replace") or "its launcher has ended"
                raise SandboxError(f"Cannot start a process in the sandbox: {words}.")
        except BaseException as error:
            control.close()
            pipes.close()
            if isinstance(error, OSError):
                raise SandboxError(f"Cannot start a process in the sandbox: {error}.") from None
            raise
        finally:
            os.close(paper)
            other.close()
        job = EnteredJob(pipes, control, found[0], uid, alone=command.is_shell)
        pipes.close_child()
        return job

    @property
    def has_ended(self) -> bool:
        """Whether the launcher runs no more; no command can be started then."""
        return self._launcher.poll() is not None

    def close(self) -> None:
        """End the launcher, and with it the container."""
        self._channel.close()
        try:
            self._launcher.wait(5.0)
        except subprocess.TimeoutExpired:
            self._launcher.kill()
            self._launcher.wait()


class EnteredJob(SandboxProcess):
    """A command in a container, with its own process namespace.

    Args:
        pipes: its streams.
        control: where its keeper reports how it ended.
        first: descriptor of the first process of its namespace.
        uid: its user.
        alone: whether it is that first process itself.
    """

    def __init__(
        self, pipes: Pipes, control: socket.socket, first: int, uid: int, *, alone: bool
    ) -> None:
        self.pipes, self.alone = pipes, alone
        self.exit_fd = control.fileno()
        self.status_target = pipes.status_target
        self._control, self._first, self._uid = control, first, uid
        self._status: int | None = None
        self._is_unreported = False
        self._guard = threading.RLock()
        control.setblocking(False)

    @property
    def was_cut_off(self) -> bool:
        """Whether its keeper was killed, which is outside of the sandbox."""
        return self.poll() is not None and self._is_unreported

    def poll(self) -> int | None:
        """Return the exit status if the command has ended."""
        with self._guard:
            if self._status is None and self.exit_fd >= 0:
                with suppress(BlockingIOError):
                    words = self._control.recv(256).split()
                    self._is_unreported = not words
                    self._status = exit_status(int(words[0])) if words else _KILLED
            return self._status

    def kill(self) -> None:
        """Kill the first process of the namespace, and with it the namespace."""
        self._signal(signal.SIGKILL)

    def abort_command(self) -> None:
        """Signal the shell, then kill everything else in its namespace, or else the shell too."""

        def abort(space: PidSpace) -> bool:
            space.signal_first(signal.SIGUSR1)
            # The shell may be as quick, and kill what is to kill the others.
            return space.kill_others(self._uid)

        if self._with_space(abort) is None:
            self.kill()

    def sweep_background(self) -> bool:
        """Stop the shell and kill everything else, where there is more, or else the shell too."""
        killed = self._with_space(lambda space: space.leave_stopped(self._uid))
        if killed is None:
            with self._guard:
                killed = self.poll() is None
                end_space(self._first)
        return killed

    def pause(self) -> None:
        """Stop the shell, which is the first process of its namespace."""
        self._signal(signal.SIGSTOP)
        self._with_space(PidSpace.stop_first)

    def resume(self) -> None:
        """Let the shell go on."""
        self._signal(signal.SIGCONT)

    def _with_space(self, act: Callable[[PidSpace], _T]) -> _T | None:
        """Do something with the namespace; return ``None`` if it has ended or cannot be opened."""
        with self._guard:
            if self.poll() is not None or self._first < 0:
                return None
            try:
                space = PidSpace(_number(self._first), os.dup(self._first))
            except OSError:
                return None
        try:
            return act(space)
        finally:
            space.close()

    def close(self) -> None:
        """Kill the namespace and close the descriptors."""
        super().close()
        with self._guard:
            if self.exit_fd >= 0:
                self._status = _KILLED if self._status is None else self._status
                self._control.close()
                os.close(self._first)
                self.exit_fd = self._first = -1

    def _signal(self, number: signal.Signals) -> None:
        with self._guard, suppress(ProcessLookupError):
            if self._first >= 0:
                signal.pidfd_send_signal(self._first, number)


def _number(process: int) -> int:
    """Return the pid of a process that a descriptor holds; it has none once it is reaped."""
    for line in Path(f"/proc/self/fdinfo/{process}").read_text().splitlines():
        if line.startswith("Pid:") and int(line.split()[1]) > 0:
            return int(line.split()[1])
    raise ProcessLookupError("It has ended.")


def _paper(content: Mapping[str, Any]) -> int:
    """Return a file without a name that holds ``content``: messages are short, commands are not."""
    descriptor = os.memfd_create("ludus")
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(json.dumps(content).encode())
    return descriptor


def _close(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
