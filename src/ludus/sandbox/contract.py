"""The contract of a sandbox: what every backend offers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from ludus.errors import SandboxError
from ludus.sandbox.lifetime import OpenSandbox
from ludus.sandbox.process_handle import SandboxCommand, SandboxProcess, check_command
from ludus.sandbox.pump import Ending, Pump
from ludus.sandbox.results import Completed, Usage
from ludus.sandbox.shell import SHELL_ARGV, SHELL_ENVIRONMENT, Shell

if TYPE_CHECKING:
    from ludus.sandbox.egress.journal import EgressLog

__all__ = ["Sandbox"]

_KILLED = 137


class Sandbox(OpenSandbox):
    """A place for untrusted programs with the limits of a policy; this object owns it.

    Use it as a context manager, or call :meth:`close`. Its commands share ``/workspace`` (their
    home), ``/tmp``, ``/dev/shm`` and the network; a command ends with everything it started.
    Methods may be called from any thread.

    A backend implements ``unavailable``, ``enforcement``, ``_open``, ``_spawn``, ``_root``,
    ``_usage`` and ``_close``, and a function ``reclaim(record)`` in its module that releases what
    the lease of a dead owner records.

    Args:
        policy: the limits.
        workspace: a host folder to use as ``/workspace``; by default a new one that is removed with
            the sandbox.
        label: part of the sandbox's name.
        image: name of an existing container image to use as root, for container engines.

    Attributes:
        gpus: the GPUs that were passed through, by their names.

    Raises:
        ValueError: the backend has no images, or this is no name of one.
        ImageMissing: the image is not on this machine.
        PolicyNotEnforceable: some limits cannot be enforced; nothing was started.
        SandboxUnavailable: the backend cannot run here.
    """

    @contextmanager
    def frozen(self) -> Iterator[bool]:
        """Keep shells, and processes in :meth:`freezer`, from running in the block.

        What the commands of shells left running is killed. Yields whether all processes are frozen;
        where the backend cannot do that, its shells are stopped only.
        """
        with self._guard:
            shells = [*self._shells]
        for shell in shells:
            shell.sweep()
        try:
            freezer = self.freezer()
            for shell in shells:
                shell.join(freezer)
            done = freezer.freeze()
        except (SandboxError, OSError):
            yield False
            return
        try:
            yield done
        finally:
            with suppress(OSError):
                freezer.thaw()

    def run(
        self,
        argv: Sequence[str],
        *,
        input: bytes = b"",
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        idle: float | None = None,
        output: int | None = None,
    ) -> Completed:
        """Run a program to its end and return its output.

        Args:
            argv: the program, found by ``PATH`` inside, and its arguments.
            input: its standard input.
            cwd: folder inside the sandbox; ``/workspace`` by default.
            env: variables in addition to the policy's.
            timeout: seconds after which it is killed, with everything it started.
            idle: seconds without output after which it is killed; the policy's by default.
            output: bytes kept of each stream; as many as the policy says by default.

        Raises:
            SandboxClosed: the sandbox is closed.
            ValueError: an argument is none that a program accepts, or ``output`` is negative.
        """
        command = self._command(argv, cwd=cwd, env=env)
        kept = self.policy.output if output is None else output
        if kept < 0:
            raise ValueError(f"output is {output!r}; expected a number of bytes, at least 0.")
        with self._in_use():
            return self._run(command, input, timeout, idle, kept)

    def _run(
        self,
        command: SandboxCommand,
        input: bytes,
        timeout: float | None,
        idle: float | None,
        output: int,
    ) -> Completed:
        began, kills = time.monotonic(), self._oom_kills()
        job = self._start(command)
        try:
            pump = Pump(job, output, input)
            limits = [began + timeout] if timeout is not None else []
            if self._deadline is not None:
                limits.append(self._deadline)
            ending = pump.run(min(limits, default=None), self.policy.idle if idle is None else idle)
            if ending is not Ending.EXIT:
                job.kill()
                pump.run(time.monotonic() + 5.0)
            status = job.wait(5.0)
        finally:
            self._end(job)
        late = ending is not Ending.EXIT
        return Completed(
            stdout=pump.out.value(),
            stderr=pump.err.value(),
            returncode=_KILLED if late or status is None else status,
            timed_out=late,
            oom_killed=self._oom_kills() > kills,
            usage=self._usage(time.monotonic() - began),
            stdout_cut=pump.out.cut,
            stderr_cut=pump.err.cut,
        )

    def shell(self) -> Shell:
        """Open a persistent bash; several may be open at a time.

        Raises:
            SandboxClosed: the sandbox is closed, or bash does not start in it.
        """
        command = self._command(SHELL_ARGV, env=SHELL_ENVIRONMENT)
        shell = Shell(
            lambda: self._start_shell(replace(command, is_shell=True)),
            usage=self._usage,
            oom_kills=self._oom_kills,
            output=self.policy.output,
            idle=self.policy.idle,
            deadline=self._deadline,
        )
        with self._guard:
            self._shells = {other for other in self._shells if not other.is_closed} | {shell}
        return shell

    def spawn(
        self,
        argv: Sequence[str],
        *,
        pass_fds: Sequence[int] = (),
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> SandboxProcess:
        """Start a program and return its handle; the caller ends it with ``SandboxProcess.close``.

        Raises:
            SandboxClosed: the sandbox is closed.
            SandboxError: this backend cannot pass descriptors.
        """
        command = self._command(argv, cwd=cwd, env=env, pass_fds=tuple(pass_fds))
        with self._in_use():
            return self._start(command)

    @property
    def egress(self) -> EgressLog | None:
        """What the sandbox's proxy passed and refused; ``None`` if it has no egress."""
        return None if self._proxy is None else self._proxy.log

    def usage(self) -> Usage:
        """Return what the sandbox used so far.

        Raises:
            SandboxClosed: the sandbox is closed.
        """
        with self._in_use():
            return self._usage(time.monotonic() - self._began)

    def _start_shell(self, command: SandboxCommand) -> SandboxProcess:
        with self._in_use():
            return self._start(command)

    def _command(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        pass_fds: tuple[int, ...] = (),
    ) -> SandboxCommand:
        check_command(argv, cwd, env or {})
        given = {**self._base_environment(), **self.policy.environment, **(env or {})}
        if self._proxy is not None:
            given = {**self._proxy.environment, **given}
        return SandboxCommand(
            argv=tuple(argv), env=given, cwd=cwd or self._home(), pass_fds=pass_fds
        )
