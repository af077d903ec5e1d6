"""No isolation at all: commands run as the caller, on the host. For trusted code and for tests."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

from ludus.errors import SandboxError
from ludus.sandbox.contract import Sandbox
from ludus.sandbox.leases import Record
from ludus.sandbox.policy import Policy
from ludus.sandbox.process_handle import LocalJob, Pipes, SandboxCommand, SandboxProcess
from ludus.sandbox.results import Enforcement, Usage
from ludus.sandbox.transfer.clearing import remove_tree

__all__ = ["ProcessSandbox", "reclaim"]

_VARIABLE, _JOB = "LUDUS_BOX", "LUDUS_JOB"
_WHY = "this backend isolates nothing"


class ProcessSandbox(Sandbox):
    """Runs commands as plain child processes, without isolation. It must be chosen by name.

    Only time limits, output limits and clean-up apply. ``/workspace`` is a host folder (``HOME``
    names it), ``/tmp`` the host's. The policy must ask for no other limit, as this backend's
    default does: ``Policy(memory=None, cpus=None, pids=None, disk=None, tmp=None, files=None,
    network="host")``.
    """

    backend = "process"
    _folder: int | None = None
    _made: str | None = None

    @classmethod
    def unavailable(cls) -> str | None:
        """Return ``None``: it runs everywhere."""
        return None

    @classmethod
    def enforcement(cls) -> Enforcement:
        """Return that nothing but time is limited."""
        names = ("memory", "cpus", "pids", "disk", "tmp", "files", "network")
        return Enforcement(dict.fromkeys(names, _WHY))

    @classmethod
    def default_policy(cls) -> Policy:
        """Return a policy without limits."""
        return Policy(
            memory=None, cpus=None, pids=None, disk=None, tmp=None, files=None, network="host"
        )

    def _open(self) -> None:
        warnings.warn(
            "The 'process' backend isolates nothing: commands run on this machine with your "
            "rights. Use it for code you trust.",
            RuntimeWarning,
            stacklevel=4,
        )
        if self.policy.mounts:
            raise SandboxError("The 'process' backend cannot mount; it sees all of the host.")
        if self.workspace is None:
            self._made = tempfile.mkdtemp(prefix="ludus-")
            self._lease.note(workspace=self._made)
            self.workspace = Path(self._made).resolve()
        self._lease.note(mark=self.name)
        self._folder = os.open(self.workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def _home(self) -> str:
        return str(self.workspace)

    def _base_environment(self) -> dict[str, str]:
        path = os.environ.get("PATH", os.defpath)
        return {**super()._base_environment(), "PATH": path, _VARIABLE: self.name}

    def _spawn(self, command: SandboxCommand) -> SandboxProcess:
        pipes, mark = Pipes(status=command.is_shell), secrets.token_hex(8)
        inherited = () if pipes.child_status is None else (pipes.child_status,)
        try:
            child = subprocess.Popen(  # noqa: S603 - what this backend is for
                command.argv,
                env={**command.env, _JOB: mark},
                cwd=command.cwd,
                stdin=pipes.child_stdin,
                stdout=pipes.child_stdout,
                stderr=pipes.child_stderr,
                pass_fds=(*command.pass_fds, *inherited),
                start_new_session=True,
            )
        except OSError as error:
            pipes.close()
            raise SandboxError(f"Cannot start {command.argv[0]!r}: {error.strerror}.") from None
        job = _ProcessJob(child, pipes, mark)
        pipes.close_child()
        return job

    def _root(self, place: str) -> int:
        if place != "/workspace" or self._folder is None:
            raise SandboxError(f"The 'process' backend has no {place} of its own.")
        return self._folder

    def _usage(self, wall_seconds: float) -> Usage:
        return Usage(wall_seconds=wall_seconds)

    def _close(self) -> None:
        _kill_marked(f"{_VARIABLE}={self.name}")
        if self._folder is not None:
            os.close(self._folder)
        if self._made is not None:
            remove_tree(self._made)


class _ProcessJob(LocalJob):
    """A session of processes, with a mark in their environment that orphans keep."""

    def __init__(self, child: subprocess.Popen[bytes], pipes: Pipes, mark: str) -> None:
        super().__init__(child, pipes)
        self.mark = mark

    def kill(self) -> None:
        """Kill the whole tree."""
        _kill_marked(f"{_JOB}={self.mark}", session=self.child.pid)
        self.signal_child(signal.SIGKILL)

    def abort_command(self) -> None:
        """Signal the shell, then kill the rest of its tree."""
        self.signal_child(signal.SIGUSR1)
        self.sweep_background()

    def sweep_background(self) -> bool:
        """Kill the tree but for the shell itself."""
        _kill_marked(f"{_JOB}={self.mark}", session=self.child.pid, spare=self.child.pid)
        return False


def _kill_marked(mark: str, *, session: int | None = None, spare: int | None = None) -> None:
    """Kill processes that bear a mark or belong to a session, until no new ones appear."""
    for _ in range(20):
        found = [pid for pid in _find(mark, session) if pid != spare]
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return


def _find(mark: str, session: int | None) -> list[int]:
    needle, found = mark.encode(), []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        with suppress(OSError):
            fields = Path(f"/proc/{entry.name}/stat").read_text().rpartition(")")[2].split()
            if fields[0] in "ZX":
                continue
            words = Path(f"/proc/{entry.name}/environ").read_bytes().split(b"\0")
            if needle in words or int(fields[3]) == session:
                found.append(int(entry.name))
    return found


def reclaim(record: Record) -> None:
    """Kill what a sandbox of a dead owner left running, and remove its folder."""
    if mark := record.get("mark"):
        _kill_marked(f"{_VARIABLE}={mark}")
    if folder := record.get("workspace"):
        remove_tree(folder)
