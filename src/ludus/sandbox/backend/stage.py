"""The stage of a sandbox: its writable places and mounts, set up before anything runs in it.

All of it lies in a private mount namespace: the rest of the host never sees it, and the kernel
removes it when the owner dies.
"""

from __future__ import annotations

import os
import select
import stat
import subprocess
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import Any

from ludus.errors import SandboxError
from ludus.sandbox.backend.root_image import ETC_BINDS, PLACES, write_etc
from ludus.sandbox.linux import syscalls
from ludus.sandbox.linux.chosen_packages import shown_with
from ludus.sandbox.linux.masks import mask_folder
from ludus.sandbox.linux.mount_helper import arrange_stage
from ludus.sandbox.linux.mounts import TERMINALS, Arrangement, inodes, mount_terminals
from ludus.sandbox.policy import Mount, Policy
from ludus.sandbox.process_handle import Pipes
from ludus.sandbox.start_thread import Worker

__all__ = ["RootStage", "Stage", "UserStage", "read_child_pid"]

_DEVICES = {
    "null": (1, 3),
    "zero": (1, 5),
    "full": (1, 7),
    "random": (1, 8),
    "urandom": (1, 9),
    "tty": (5, 0),
}
_LINKS = {
    "core": "/proc/kcore",
    "fd": "/proc/self/fd",
    "ptmx": "pts/ptmx",
    "stderr": "/proc/self/fd/2",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
}
# The sandbox's user as the sandbox sees it.
_INSIDE = 1000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Says that the stage is set, then lives until its input ends.
_HOLD = ("/bin/sh", "-c", "echo; exec cat >/dev/null")


class Stage(ABC):
    """The writable places of a sandbox and the paths from which to bind the rest.

    Attributes:
        prefix: command line prefix that starts a program where the stage is visible.
        nested: whether ``prefix`` enters a process namespace, whose pids differ from ours.
        roots: descriptors of the writable places, for the host.
        etc: folder with the generated files of ``/etc``.
        dev: folder with devices; ``None`` where only the host's are available.
        terminals: folder with pseudo-terminals, where ``dev`` is ``None``.
    """

    prefix: tuple[str, ...] = ()
    nested: bool = False

    def __init__(self, folder: Path, policy: Policy, workspace: Path | None) -> None:
        self.folder, self.policy, self.workspace = folder, policy, workspace
        self.roots: dict[str, int] = {}
        self.etc = folder / "etc"
        self.dev: Path | None = None
        self.terminals: Path | None = None
        self.worker = Worker(f"sandbox {folder.parent.name}")
        self._shown: dict[str, str] = {}
        self._sources: dict[Mount, str] = {}

    @abstractmethod
    def open(self) -> None:
        """Set everything up."""

    def shown(self, path: str) -> str:
        """Return from where to bind a folder that every sandbox is shown."""
        return self._shown.get(path, path)

    def source(self, mount: Mount) -> str:
        """Return from where to bind ``mount``."""
        return self._sources.get(mount, mount.source)

    def _common(self) -> list[str]:
        """Return the folders of ``/etc`` that every sandbox is shown whole."""
        return [f"/etc/{name}" for name in ETC_BINDS if Path("/etc", name).is_dir()]

    def _mounted(self) -> dict[Mount, tuple[str, str]]:
        """Return, for each read-only mount, a folder to show and the path in it.

        A single file is bound from an overlay of its folder. Others, such as sockets, are bound
        directly.
        """
        found = {}
        for mount in self.policy.mounts:
            path = Path(mount.source)
            if not mount.writable and path.is_dir():
                found[mount] = (str(path), "")
            elif not mount.writable and path.is_file():
                found[mount] = (str(path.parent), f"/{path.name}")
        return found

    def close(self) -> None:
        """Take everything down."""
        for descriptor in self.roots.values():
            os.close(descriptor)
        self.roots.clear()
        self.worker.close()

    def sizes(self) -> dict[str, int | None]:
        """Return the sizes of the places, by their names on the stage."""
        sizes = {"workspace": self.policy.disk, "tmp": self.policy.tmp, "shm": self.policy.tmp}
        if self.workspace is not None:
            del sizes["workspace"]
        return sizes

    def place(self, name: str) -> str:
        """Return the path from which to bind a place."""
        if name == "workspace" and self.workspace is not None:
            return str(self.workspace)
        return str(self.folder / name)

    def _open_roots(self, base: str) -> None:
        for place, name in PLACES.items():
            path = self.place(name)
            inside = base + path if path.startswith(str(self.folder)) else path
            self.roots[place] = os.open(inside, _FOLDER)


class RootStage(Stage):
    """A stage made by root, in namespaces of a thread that then becomes the sandbox's user ``uid``.

    ``inside`` is that user as the sandbox sees it.
    """

    def __init__(self, folder: Path, policy: Policy, workspace: Path | None, uid: int) -> None:
        super().__init__(folder, policy, workspace)
        self.uid, self.inside = uid, _INSIDE

    def open(self) -> None:
        """Set everything up in the sandbox's thread, and drop its rights."""
        self.folder.mkdir(mode=0o755)
        try:
            self.worker.call(self._set_up)
        except OSError as error:
            raise SandboxError(
                f"Cannot set up the sandbox: {error.filename}: {error.strerror}."
            ) from None

    def _set_up(self) -> None:
        flags = syscalls.CLONE_FS | syscalls.CLONE_NEWNS | syscalls.CLONE_NEWIPC
        if self.policy.network != "host":
            flags |= syscalls.CLONE_NEWNET
        syscalls.unshare(flags)
        # What the host unmounts later goes here too; nothing goes the other way.
        syscalls.mount(None, "/", None, syscalls.MS_REC | syscalls.MS_SLAVE)
        plain = syscalls.MS_NOSUID | syscalls.MS_NODEV
        syscalls.mount("tmpfs", str(self.folder), "tmpfs", plain, "size=4m,mode=755")
        for name, size in self.sizes().items():
            path = self.folder / name
            path.mkdir()
            options = f"mode=700,uid={self.uid},gid={self.uid}"
            if size is not None:
                options += f",size={size},nr_inodes={inodes(size)}"
            syscalls.mount("tmpfs", str(path), "tmpfs", plain, options)
        self._arrange(Arrangement(str(self.folder)))
        write_etc(self.etc, self.policy.network, self.inside)
        self.dev = self._make_devices()
        if self.policy.network == "loopback":
            syscalls.set_loopback(up=True)
        self._open_roots("")
        self._settle()

    def _arrange(self, arrangement: Arrangement) -> None:
        """Mount what is shown of the host."""
        for shown in shown_with(self.policy.packages):
            mask = mask_folder(shown.steps)
            place = arrangement.show(shown.folder, shown.plain_steps, mask=mask)
            self._shown[shown.folder] = place
        self._shown |= {folder: arrangement.show(folder) for folder in self._common()}
        mounted = self._mounted()
        folders = dict.fromkeys(folder for folder, _ in mounted.values())
        places = {folder: arrangement.show(folder) for folder in folders}
        for number, mount in enumerate(self.policy.mounts):
            if mount in mounted:
                folder, inside = mounted[mount]
                self._sources[mount] = places[folder] + inside
            else:
                self._sources[mount] = self._reachable(mount, number)

    def _make_devices(self) -> Path | None:
        """Make the sandbox's own devices, since a lock on the host's would reach other sandboxes.

        Returns ``None`` where root may not make any, as in a user namespace.
        """
        folder = self.folder / "dev"
        folder.mkdir()
        flags = syscalls.MS_NOSUID | syscalls.MS_NOEXEC
        syscalls.mount("tmpfs", str(folder), "tmpfs", flags, "size=64k,nr_inodes=64,mode=755")
        try:
            for name, number in _DEVICES.items():
                os.mknod(folder / name, stat.S_IFCHR, os.makedev(*number))
                (folder / name).chmod(0o666)
            (folder / "null").read_bytes()
        except PermissionError:
            return None
        for name, target in _LINKS.items():
            (folder / name).symlink_to(target)
        (folder / "shm").mkdir(mode=0o755)
        mount_terminals(str(folder / "pts"))
        syscalls.restrict_mounts(str(folder), syscalls.ATTR_RDONLY, below=False)
        return folder

    def _settle(self) -> None:
        """Finish in the sandbox's thread: here, become the sandbox's user for good."""
        syscalls.become(self.uid, self.uid)

    def _reachable(self, mount: Mount, number: int) -> str:
        """Bind a source into the stage: its own folder may be closed to the sandbox's user."""
        target = self.folder / f"mount-{number}"
        if Path(mount.source).is_dir():
            target.mkdir()
        else:
            target.touch()
        syscalls.mount(mount.source, str(target), None, syscalls.MS_BIND | syscalls.MS_REC)
        return str(target)


class UserStage(Stage):
    """A stage made without root: a process holds the namespaces, and others enter them.

    The holder ends when its input ends: when the owner closes it or dies. It has its own process
    namespace, which the others enter too, so that the kernel ends them with it.
    """

    nested = True

    def __init__(self, folder: Path, policy: Policy, workspace: Path | None, bwrap: str) -> None:
        super().__init__(folder, policy, workspace)
        self.bwrap = bwrap
        self._pipes: Pipes | None = None
        self._holder: subprocess.Popen[bytes] | None = None

    def open(self) -> None:
        """Start the holder and write what is needed into its stage."""
        self.folder.mkdir(mode=0o755)
        info, child_info = os.pipe()
        self._pipes = pipes = Pipes(status=False)
        argv = [self.bwrap, *self._arguments(), "--info-fd", str(child_info), "--", *_HOLD]
        try:
            self._holder = self.worker.call(
                lambda: subprocess.Popen(  # noqa: S603 - our own launcher
                    argv,
                    stdin=pipes.child_stdin,
                    stdout=pipes.child_stdout,
                    stderr=pipes.child_stderr,
                    pass_fds=(child_info,),
                )
            )
        finally:
            os.close(child_info)
            pipes.close_child()
        pid, said = read_child_pid(info, 10.0), ""
        os.close(info)
        if pid is None or not _readable(pipes.stdout, 10.0) or not os.read(pipes.stdout, 1):
            with suppress(BlockingIOError):
                said = os.read(pipes.stderr, 4096).decode("utf-8", "replace").strip()
            raise SandboxError(f"Cannot set up the sandbox: {said!r}.")
        arrange_stage(pid, self._plan())
        self.terminals = self.folder / TERMINALS
        base = f"/proc/{pid}/root"
        write_etc(Path(base + str(self.etc)), self.policy.network, _INSIDE)
        self._open_roots(base)
        enter = ["nsenter", "--preserve-credentials", "-t", str(pid), "-U", "-m", "-i", "-p"]
        if self.policy.network != "host":
            enter.append("-n")
        self.prefix = (*enter, "--")

    def close(self) -> None:
        """End the holder, and with it the namespaces."""
        if self._pipes is not None:
            self._pipes.close()
        if self._holder is not None:
            try:
                self._holder.wait(5.0)
            except subprocess.TimeoutExpired:
                self._holder.kill()
                self._holder.wait()
        super().close()

    def _plan(self) -> dict[str, Any]:
        """Return what is to be mounted of the host, and set from where it is bound."""
        chosen = shown_with(self.policy.packages)
        shown = [(shown.folder, shown.plain_steps) for shown in chosen]
        shown += [(folder, ()) for folder in self._common()]
        self._shown = {folder: self._arranged(i) for i, (folder, _) in enumerate(shown)}
        for mount, (folder, inside) in self._mounted().items():
            self._sources[mount] = self._arranged(len(shown)) + inside
            shown.append((folder, ()))
        sizes = {self.place(name): size for name, size in self.sizes().items() if size is not None}
        return {"folder": str(self.folder), "sizes": sizes, "shown": shown}

    def _arranged(self, number: int) -> str:
        return f"{self.folder}/shown-{number}"

    def _arguments(self) -> list[str]:
        made = ["--unshare-user", "--unshare-ipc", "--unshare-pid", "--die-with-parent"]
        made += ["--dev-bind", "/", "/", "--proc", "/proc"]
        if self.policy.network != "host":
            made.append("--unshare-net")
        made += ["--size", str(4 << 20), "--tmpfs", str(self.folder)]
        for name, size in self.sizes().items():
            sized = [] if size is None else ["--size", str(size)]
            made += [*sized, "--tmpfs", str(self.folder / name)]
        return made


def _readable(descriptor: int, timeout: float) -> bool:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(timeout * 1000))


def read_child_pid(descriptor: int, timeout: float) -> int | None:
    """Return the pid that bwrap reports of its child; ``None`` if it ends before that."""
    text = b""
    while b"}" not in text and len(text) < 4096:
        if not _readable(descriptor, timeout):
            return None
        chunk = os.read(descriptor, 4096)
        if not chunk:
            return None
        text += chunk
    _, _, rest = text.partition(b'"child-pid":')
    digits = rest.strip().split(b",")[0].split(b"\n")[0].strip(b" }")
    return int(digits) if digits.isdigit() else None
