"""The default backend: hardened unprivileged namespaces, set up by bubblewrap.

Each command gets its own process namespace: killing its first process kills everything it started.
The writable places, the network and System V IPC belong to the sandbox and are shared by its
commands.

Layers, from the outside: a host user without rights; control groups for memory and CPU; a read-only
root with only what is bound into it; no capabilities, no new privileges, no user namespaces inside;
a seccomp filter.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from functools import cache
from typing import TYPE_CHECKING

from ludus.errors import SandboxClosed, SandboxError, SandboxUnavailable
from ludus.sandbox.backend.bubblewrap_job import BwrapJob
from ludus.sandbox.backend.root_image import ETC_BINDS, PLACES, system_folders, system_links
from ludus.sandbox.backend.stage import RootStage, Stage, UserStage
from ludus.sandbox.backend.staged import StagedSandbox, reclaim
from ludus.sandbox.linux import cgroup, seccomp, uids
from ludus.sandbox.linux.freezer import Freezer, freezer_parent
from ludus.sandbox.linux.mount_helper import start_arranger
from ludus.sandbox.linux.uncharged_memory import LockLimit
from ludus.sandbox.linux.visible_files import python_roots, shown_folders
from ludus.sandbox.process_handle import Pipes, SandboxCommand, SandboxProcess
from ludus.sandbox.results import Enforcement

if TYPE_CHECKING:
    import socket

__all__ = ["Bubblewrap", "reclaim"]

# /proc/sys/fs has counts of the whole host's files, descriptors and names: a channel between
# sandboxes.
_FIXED = """
    --unshare-user --unshare-pid --unshare-uts --unshare-cgroup-try --disable-userns
    --new-session --die-with-parent --clearenv --uid 1000 --gid 1000 --hostname ludus
    --proc /proc --tmpfs /proc/sys/fs --remount-ro /proc/sys/fs
"""
_MIB = 1 << 20
_SIGNALS = 4096
_RLIMITS = {
    name: getattr(resource, f"RLIMIT_{name.upper()}")
    for name in ("core", "memlock", "nofile", "nproc", "sigpending")
}


class Bubblewrap(StagedSandbox):
    """A sandbox made by bubblewrap. Open it with ``open_sandbox``."""

    backend = "bubblewrap"
    has_egress = True

    @classmethod
    def unavailable(cls) -> str | None:
        """Return why sandboxes cannot be made here, after one trial per process."""
        return _trial()

    @classmethod
    def get_ready(cls) -> None:
        """Start the process that arranges stages, which a sandbox of root does without."""
        if os.geteuid() != 0:
            start_arranger()

    @classmethod
    def enforcement(cls) -> Enforcement:
        """Return what holds here: as root everything, else no memory or CPU of a tree."""
        absent = dict(cgroup.missing())
        # The limit on a user's processes holds a tree, since no other sandbox has that user.
        absent.pop("pids", None)
        return Enforcement(absent, cgroup.missing_with_network())

    def _open(self) -> None:
        folder = self._lease.folder / "stage"
        skip = {"memory", "cpus", "pids"} & cgroup.missing().keys()
        if os.geteuid() == 0:
            uid, leased = uids.choose_user(self.policy, self.workspace, self._lease)
            if leased:
                self._leased = uid
                skip.add("pids")
            self._stage = RootStage(folder, self.policy, self.workspace, uid)
        else:
            self._stage = UserStage(folder, self.policy, self.workspace, _bwrap())
        group = cgroup.Group(self.name, self.policy, skip=skip)
        self._lease.note(groups=[str(path) for path in group.folders])
        self._group = group
        group.open()
        if self.policy.memory is not None:
            self._bounds = (LockLimit(group),)
        self._stage.open()
        self._bound_connections(self._stage, group)

    def freezer(self) -> Freezer:
        """Return the control group for processes that are to be frozen, made when first asked for.

        Raises:
            SandboxError: there is none here; without root there never is.
        """
        if self._freezer is None:
            folders = [] if self._group is None else self._group.folders
            parent = None if self._leased is None else freezer_parent(folders)
            if parent is None:
                raise SandboxError(
                    "Processes of this sandbox cannot be frozen: that takes root and control "
                    "groups that can be frozen."
                )
            folder = parent / f"ludus-{self.name}-jobs"
            self._lease.note(groups=[str(path) for path in (folder, *folders)])
            self._freezer = Freezer(folder)
        return self._freezer

    def _listen(self) -> socket.socket:
        from ludus.sandbox.egress.listening import listen_here, listen_with

        if self._stage is None:
            raise SandboxClosed(f"Sandbox {self.name} is not open.")
        if self._stage.nested:
            return listen_with(self._stage.prefix)
        return self._stage.worker.call(listen_here)

    def _spawn(self, command: SandboxCommand) -> SandboxProcess:
        stage, group = self._stage, self._group
        if stage is None or group is None:
            raise SandboxClosed(f"Sandbox {self.name} is not open.")
        pipes = Pipes(status=command.is_shell)
        ends: list[int] = []
        try:
            args, child_args = _pipe(ends)
            info, child_info = _pipe(ends)
            filter_fd = _memory_file(
                seccomp.program(self.policy.network, netlink=self.policy.memory is None)
            )
            ends.append(filter_fd)
            inherited = [args, child_info, filter_fd, *group.doors, *command.pass_fds]
            if pipes.child_status is not None:
                inherited.append(pipes.child_status)
            # bwrap waits for its options: until they are sent it does nothing, and its limits
            # can be set.
            argv = [*group.entrance(), *stage.prefix]
            if stage.nested:
                # The child is not bwrap, but its parent. Set between the holder's user namespace
                # and the sandbox's own, these count this sandbox only.
                argv += ["prlimit", *(f"--{key}={n}:{n}" for key, n in self._rlimits().items())]
            argv += [_bwrap(), "--args", str(args), "--", *command.argv]
            limits = {} if stage.nested else self._rlimits()
            child = stage.worker.call(lambda: _launch(argv, pipes, inherited, limits))
            job = BwrapJob(
                child, pipes, os.dup(info), self, alone=command.is_shell, nested=stage.nested
            )
            try:
                group.join(child.pid)
                options = self._options(command, filter_fd, child_info)
                with os.fdopen(os.dup(child_args), "wb") as sink:
                    sink.write(b"".join(os.fsencode(word) + b"\0" for word in options))
            except OSError as error:
                job.close()
                raise SandboxError(f"Cannot start a process in the sandbox: {error}.") from None
        except BaseException as error:
            pipes.close()
            if isinstance(error, OSError):
                raise SandboxError(f"Cannot start a process in the sandbox: {error}.") from None
            raise
        else:
            return job
        finally:
            pipes.close_child()
            for descriptor in ends:
                os.close(descriptor)

    def _rlimits(self) -> dict[str, int]:
        # One byte: a host that pipes core dumps to a program does so even where the limit is zero.
        # Signals on their way, and timers, count for all processes of a user, who without root is
        # the caller.
        limits = {"core": 1, "memlock": 8 * _MIB, "sigpending": _SIGNALS}
        if self.policy.files is not None:
            limits["nofile"] = self.policy.files
        if self.policy.pids is not None and (self._leased is not None or os.geteuid() != 0):
            # Two more: the sandbox's thread and the launcher, which count as the user's.
            limits["nproc"] = self.policy.pids + 2
        return {
            name: min(value, hard)
            if (hard := resource.getrlimit(_RLIMITS[name])[1]) >= 0
            else value
            for name, value in limits.items()
        }

    def _options(self, command: SandboxCommand, filter_fd: int, info: int) -> list[str]:
        stage = self._stage
        if stage is None:
            raise SandboxClosed(f"Sandbox {self.name} is not open.")
        made = [
            *_FIXED.split(),
            *_system(stage),
            "--seccomp",
            str(filter_fd),
            "--info-fd",
            str(info),
        ]
        # The sandbox's own is read-only already; bwrap would also take the devices away.
        own = stage.dev is not None
        made += ["--dev-bind", str(stage.dev), "/dev"] if own else ["--dev", "/dev"]
        if stage.terminals is not None:
            made += ["--dev-bind", str(stage.terminals), "/dev/pts"]
        made += ["--ro-bind", str(stage.etc), "/etc"]
        for name in ETC_BINDS:
            made += ["--ro-bind-try", stage.shown(f"/etc/{name}"), f"/etc/{name}"]
        for place, name in PLACES.items():
            made += ["--bind", stage.place(name), place]
        for path in python_roots():
            made += ["--ro-bind", stage.shown(path), path]
        for mount in self.policy.mounts:
            option = "--bind" if mount.writable else "--ro-bind"
            made += [option, stage.source(mount), mount.target]
        made += [*(() if own else ("--remount-ro", "/dev")), "--remount-ro", "/"]
        made += ["--chdir", command.cwd]
        for key, text in command.env.items():
            made += ["--setenv", key, text]
        return [*made, "--as-pid-1"] if command.is_shell else made


def _launch(
    argv: list[str], pipes: Pipes, inherited: list[int], limits: dict[str, int]
) -> subprocess.Popen[bytes]:
    """Start a program with limits; in the sandbox's thread."""
    child = subprocess.Popen(  # noqa: S603 - our own launcher
        argv,
        stdin=pipes.child_stdin,
        stdout=pipes.child_stdout,
        stderr=pipes.child_stderr,
        pass_fds=inherited,
        env={"PATH": "/usr/bin:/bin"},
        cwd="/",
    )
    try:
        # By this thread, whose user is the child's: root without CAP_SYS_RESOURCE may not.
        for name, value in limits.items():
            resource.prlimit(child.pid, _RLIMITS[name], (value, value))
    except OSError:
        child.kill()
        child.wait()
        raise
    return child


def _pipe(ends: list[int]) -> tuple[int, int]:
    pair = os.pipe()
    ends.extend(pair)
    return pair


def _memory_file(data: bytes) -> int:
    descriptor = os.memfd_create("ludus")
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


@cache
def _bwrap() -> str:
    found = shutil.which("bwrap")
    if found is None:
        raise SandboxUnavailable("Found no bwrap on PATH.")
    return os.path.realpath(found)


def _system(stage: Stage) -> tuple[str, ...]:
    """Return the options for the host's system folders, as links or binds like on the host."""
    links = (("--symlink", target, path) for path, target in system_links().items())
    binds = (("--ro-bind", stage.shown(path), path) for path in system_folders())
    return tuple(word for option in (*binds, *links) for word in option)


@cache
def _trial() -> str | None:
    """Return why a smallest sandbox does not run here; the answer holds for this process."""
    if shutil.which("bwrap") is None:
        return (
            "Found no bwrap on PATH; required is bubblewrap 0.8 or later. "
            "Install it: apt-get install bubblewrap."
        )
    if os.uname().machine not in ("x86_64", "aarch64"):
        return f"Found a {os.uname().machine}; there are system call tables for x86_64 and aarch64."
    root = os.geteuid() == 0
    options = (
        "--unshare-user --unshare-pid --as-pid-1 --disable-userns --ro-bind / / --proc /proc true"
    )
    try:
        user = (
            {"user": uids.pool()[-1], "group": uids.pool()[-1], "extra_groups": []} if root else {}
        )
        with subprocess.Popen(  # noqa: S603 - our own arguments
            [_bwrap(), *options.split()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd="/",
            **user,  # type: ignore[call-overload]
        ) as process:
            # The first sandbox needs this next, and it takes about as long as the trial.
            shown_folders()
            try:
                _, errors = process.communicate(timeout=10)
            except BaseException:
                process.kill()
                raise
    except (OSError, subprocess.SubprocessError, SandboxUnavailable) as error:
        return f"{error}"
    if process.returncode == 0:
        return None
    said = errors.decode("utf-8", "replace").strip()
    return (
        f"Found {said!r}; required are unprivileged user namespaces and bubblewrap 0.8 or later. "
        "Check /proc/sys/user/max_user_namespaces, kernel.unprivileged_userns_clone and "
        "kernel.apparmor_restrict_unprivileged_userns."
    )
