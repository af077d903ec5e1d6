"""Sandboxes on gVisor: programs run on a kernel of their own, which runs filtered on the host.

The runtime ``runsc`` starts one kernel per command. It ends with the command, and a command that
breaks it breaks only its own. The writable places and the network belong to the sandbox, on the
host, and are shared by its commands.

Layers, from the outside: control groups; a process namespace of the host per command; gVisor's own
user without rights and its filter; its kernel; inside it what every sandbox has: an unprivileged
user, a read-only root, a system call filter.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

from ludus.errors import SandboxClosed, SandboxError, SandboxUnavailable
from ludus.sandbox.backend.containers import why_not_here
from ludus.sandbox.backend.oci_bundle import BundleStage
from ludus.sandbox.backend.staged import StagedSandbox, reclaim
from ludus.sandbox.linux import cgroup, syscalls, uids
from ludus.sandbox.policy import Policy
from ludus.sandbox.process_handle import ENDING, LocalJob, Pipes, SandboxCommand, SandboxProcess
from ludus.sandbox.results import Enforcement, Usage

__all__ = ["Gvisor", "reclaim"]

# The runtime ends with the sandbox's thread, and all it starts with the runtime, which is the first
# process of their namespace; it needs the /proc of that.
_APART = ("setpriv", "--pdeathsig", "KILL", "unshare", "--mount-proc")
_SHELL = ("/bin/bash", "--norc", "--noprofile", "-c")
_KILL_OTHERS = "[[ $EUID != 0 ]] && kill -KILL -1"
_ABORT = "[[ $EUID != 0 ]] && { kill -USR1 1; kill -KILL -1; }"
# The path that podman searches too.
_FOLDERS = ("/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/bin", "/sbin")
_ENVIRONMENT = {"PATH": ":".join(_FOLDERS)}
_NAME = "command"
# Processes that a command has at least: a shell, a program, and one to wait for them.
_LEAST = 3


class Gvisor(StagedSandbox):
    """A sandbox on gVisor's kernel. Open it with ``open_sandbox``."""

    backend = "gvisor"

    @classmethod
    def unavailable(cls) -> str | None:
        """Return why sandboxes cannot be made here, after one trial per process."""
        return _trial()

    @classmethod
    def enforcement(cls) -> Enforcement:
        """Return what holds here: everything where there are control groups."""
        return Enforcement(cgroup.missing(), cgroup.missing_with_network())

    def _open(self) -> None:
        self._shares: dict[Path, int] = {}
        uid, leased = uids.choose_user(self.policy, self.workspace, self._lease)
        self._leased = uid if leased else None
        self._stage = BundleStage(self._lease.folder / "stage", self.policy, self.workspace, uid)
        group = cgroup.Group(self.name, _on_the_host(self.policy))
        self._lease.note(groups=[str(path) for path in group.folders])
        self._group = group
        group.open()
        self._stage.open()
        self._bound_connections(self._stage, group)

    def _spawn(self, command: SandboxCommand) -> SandboxProcess:
        stage, group = self._stage, self._group
        if not isinstance(stage, BundleStage) or group is None:
            raise SandboxClosed(f"Sandbox {self.name} is not open.")
        if command.pass_fds:
            raise SandboxError(
                "A kernel of gVisor takes no descriptors of the host but the three streams. Use "
                "these, or another backend."
            )
        return stage.worker.call(lambda: self._start_kernel(command, stage, group))

    def _start_kernel(
        self, command: SandboxCommand, stage: BundleStage, group: cgroup.Group
    ) -> SandboxProcess:
        """Start a command with a kernel of its own; in the sandbox's thread."""
        share = self._share()
        try:
            folder, channel = stage.describe(command, pids=share)
        except OSError as error:
            raise SandboxError(f"Cannot start a process in the sandbox: {error}.") from None
        self._shares[folder] = share or 0
        pipes = Pipes(status=False)
        try:
            if channel is not None:
                # Also to be written to, so that it never ends, however often a shell opens it.
                pipes.status = os.open(channel, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            runtime = self._runtime(folder, command)
            with _next_process_apart():
                child = subprocess.Popen(  # noqa: S603 - our own launcher
                    [*_entrance(group), *_APART, *runtime, "run", f"--bundle={folder}", _NAME],
                    stdin=pipes.child_stdin,
                    stdout=pipes.child_stdout,
                    stderr=pipes.child_stderr,
                    env=_ENVIRONMENT,
                    cwd="/",
                )
        except OSError as error:
            pipes.close()
            self._remove(folder)
            raise SandboxError(f"Cannot start a process in the sandbox: {error}.") from None
        job = _KernelJob(child, pipes, self, folder, runtime)
        pipes.close_child()
        if channel is not None:
            job.alone, job.status_target = True, f">{stage.channel_inside(channel)}"
        return job

    def _runtime(self, folder: Path, command: SandboxCommand) -> list[str]:
        """Return how the runtime is called about a command."""
        # The host's network is that of the sandbox's thread: its own, unless the policy says
        # otherwise.
        network = "none" if self.policy.network == "none" else "host"
        made = [_runsc(), f"--root={folder}/state", f"--network={network}", "--ignore-cgroups"]
        if command.is_shell:
            made.append("--host-fifo=open")
        # The kernel then opens no file of the host itself, and needs no right at all.
        return [*made, "--directfs=false"]

    def _share(self) -> int | None:
        """Return how many processes a command may have: half of what is left.

        The kernels do not know of each other, so that their limits must add up to the sandbox's.
        """
        if self.policy.pids is None:
            return None
        left = self.policy.pids - sum(self._shares.values())
        if left < 2 * _LEAST:
            raise SandboxError(
                f"Cannot start a process in the sandbox: policy.pids is {self.policy.pids}, and "
                f"{len(self._shares)} commands run, each with a share of it. Allow more, or end "
                "some."
            )
        return left // 2

    def _usage(self, wall_seconds: float) -> Usage:
        # The processes that the host sees are gVisor's.
        return replace(super()._usage(wall_seconds), pids_now=None)

    def _forget(self, job: LocalJob, folder: Path) -> None:
        """Remove what the runtime was given for a command that is over."""
        self._ended(job)
        if self._stage is not None:
            with suppress(SandboxClosed):
                self._stage.worker.call(lambda: self._remove(folder))

    def _remove(self, folder: Path) -> None:
        self._shares.pop(folder, None)
        shutil.rmtree(folder, ignore_errors=True)


class _KernelJob(LocalJob):
    """A command, its kernel, and the host's process namespace around both."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        pipes: Pipes,
        sandbox: Gvisor,
        folder: Path,
        runtime: list[str],
    ) -> None:
        super().__init__(child, pipes)
        self._sandbox, self._folder, self._runtime = sandbox, folder, runtime
        self._over = False

    def kill(self) -> None:
        """Kill the first process of the namespace, and with it the kernel and all on it."""
        self.signal_child(signal.SIGKILL)

    def abort_command(self) -> None:
        """Signal the shell, then kill everything else on its kernel; from inside, as its user."""
        self._run_inside(_ABORT)

    def sweep_background(self) -> bool:
        """Kill everything but the shell, and stop the syscalls, or else kill it."""
        if self.poll() is not None:
            return False
        self._run_inside(_KILL_OTHERS)
        if self._ask_runtime("pause", _NAME):
            return False
        self.kill()
        # It is the first process of the namespace, which ends after all others.
        if self.wait(ENDING) is None:
            raise SandboxError(
                f"The kernel of a command was killed, and has not ended within {ENDING:g} s. "
                "Close the sandbox and open another one."
            )
        return True

    def pause(self) -> None:
        """Stop all processes of the kernel."""
        self._ask_runtime("pause", _NAME)

    def resume(self) -> None:
        """Have the kernel go on."""
        self._ask_runtime("resume", _NAME)

    def _run_inside(self, script: str) -> None:
        uid = self._sandbox._owner()
        self._ask_runtime("exec", f"--user={uid}:{uid}", "--cwd=/", _NAME, *_SHELL, script)

    def _ask_runtime(self, *words: str) -> bool:
        """Return whether the runtime does something with the command's kernel."""
        if self.poll() is not None:
            return False
        enter = ["nsenter", f"--target={self.child.pid}", "--mount", "--net", "--pid", "--"]
        try:
            done = subprocess.run(  # noqa: S603 - our own arguments
                [*enter, *self._runtime, *words],
                env=_ENVIRONMENT,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=5.0,
                check=False,
            )
        except (OSError, subprocess.SubprocessError):
            return False
        return done.returncode == 0

    def close(self) -> None:
        """Kill the syscalls, reap and close."""
        super().close()
        with self._guard:
            over, self._over = self._over, True
        if not over:
            self._sandbox._forget(self, self._folder)


def _on_the_host(policy: Policy) -> Policy:
    """Return the limits of the control groups.

    Each command's kernel counts its processes. The host counts gVisor's own: about fifty per
    command and up to three per process in it. Their limit therefore covers all commands together.
    """
    return policy if policy.pids is None else replace(policy, pids=512 + 4 * policy.pids)


@contextmanager
def _next_process_apart() -> Iterator[None]:
    """Make the process that this thread starts the first one of a namespace."""
    own = os.open("/proc/thread-self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        syscalls.unshare(syscalls.CLONE_NEWPID)
        yield
    finally:
        syscalls.enter(own, syscalls.CLONE_NEWPID)
        os.close(own)


def _entrance(group: cgroup.Group) -> list[str]:
    """Return what a command line of root begins with to join the groups of either version."""
    files = [
        folder / ("tasks" if (folder / "tasks").exists() else "cgroup.procs")
        for folder in group.folders
    ]
    steps = "".join(f"echo 0 >{shlex.quote(str(file))} && " for file in files)
    return [*_SHELL, f'{steps}exec "$@"; exit 125', "bash"] if files else []


@cache
def _runsc() -> str:
    found = shutil.which("runsc") or shutil.which("runsc", path=_ENVIRONMENT["PATH"])
    if found is None:
        raise SandboxUnavailable("Found no runsc on PATH.")
    return os.path.realpath(found)


@cache
def _trial() -> str | None:
    """Return why a smallest sandbox does not run here; the answer holds for this process."""
    if (reason := why_not_here()) is not None:
        return reason
    try:
        _runsc()
    except SandboxUnavailable as error:
        return (
            f"{error} Required is gVisor's runtime of 2023 or later. Install it: "
            "https://gvisor.dev/docs/user_guide/install, or Debian's runsc (for Debian 12 from "
            "its backports)."
        )
    for program in ("setpriv", "unshare", "nsenter"):
        if shutil.which(program) is None:
            return f"Found no {program} on PATH. Install it: apt-get install util-linux."
    try:
        with Gvisor(Policy(memory=None, cpus=None, pids=None), label="trial") as sandbox:
            # Kernels of 2022 lack the calls with which today's programs inspect a file.
            done = sandbox.run(["ls", "-ld", "/"], timeout=20)
    except SandboxError as error:
        return f"A first sandbox failed: {error}"
    if done.returncode == 0 and not done.timed_out:
        return None
    said = done.error_text.strip().partition("\n")[0][:300] or "it said nothing"
    return (
        f"Found {_version()}, on which a first `ls -ld /` fails: {said!r}; required is one of 2023 "
        "or later (Debian 12 has it in its backports), on a machine that lets root use ptrace and "
        "user namespaces."
    )


def _version() -> str:
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(  # noqa: S603 - our own arguments
            [_runsc(), "--version"], capture_output=True, timeout=10, check=False, text=True
        )
        return done.stdout.partition("\n")[0]
    return "a runsc that does not tell its version"
