"""Where a box is set up before anything runs in it: its writable places and what it may see.

All of it lies in a private mount namespace. Nothing is ever mounted where the rest of the host
could see it, and when the owner dies the kernel takes everything back.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from abc import ABC, abstractmethod
from contextlib import suppress
from functools import cache
from pathlib import Path

from ludus.errors import SandboxError
from ludus.sandbox import kernel
from ludus.sandbox.job import Pipes
from ludus.sandbox.policy import Mount, Policy
from ludus.sandbox.worker import Worker

__all__ = ["ETC_BINDS", "PLACES", "RootStage", "Stage", "UserStage", "python_paths"]

ETC_BINDS = ("alternatives", "ssl/certs")
"""Folders of ``/etc`` that are bound as they are."""

PLACES = {"/workspace": "workspace", "/tmp": "tmp", "/dev/shm": "shm"}  # noqa: S108 - inside a box
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ETC = {
    "passwd": "agent:x:1000:1000:agent:/workspace:/bin/bash\n",
    "group": "agent:x:1000:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
# What programs need to find libraries and the time. Copied, since a bind costs every command.
_ETC_COPIES = ("ld.so.cache", "localtime", "mime.types")
# Says that the stage is set, then lives until its input ends.
_HOLD = ("--", "/bin/sh", "-c", "echo; exec cat >/dev/null")
_ETC_LIMIT = 256 << 10
# What a Python installation or a virtual environment holds, and nothing else.
_PREFIX_NAMES = {"bin", "include", "lib", "lib64", "man", "pyvenv.cfg", "share", ".gitignore"}


class Stage(ABC):
    """The writable places of a box and the paths from which to bind the rest.

    Attributes:
        prefix: what a command line must begin with to start where the stage is visible.
        roots: descriptors of the writable places, for the host's own use.
        etc: path of the folder with the made-up files of ``/etc``.
    """

    prefix: tuple[str, ...] = ()

    def __init__(self, folder: Path, policy: Policy, workspace: Path | None) -> None:
        self.folder, self.policy, self.workspace = folder, policy, workspace
        self.roots: dict[str, int] = {}
        self.etc = folder / "etc"
        self.worker = Worker(f"box {folder.parent.name}")

    @abstractmethod
    def open(self) -> None:
        """Set everything up."""

    @abstractmethod
    def source(self, mount: Mount) -> str:
        """Return the path from which to bind ``mount``."""

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

    def _write_etc(self, base: str) -> None:
        folder = Path(base + str(self.etc))
        folder.mkdir(mode=0o755, exist_ok=True)
        texts = {name: text.encode() for name, text in _ETC.items()}
        for name in (*_ETC_COPIES, *(("resolv.conf",) if self.policy.network == "host" else ())):
            with suppress(OSError):
                if Path("/etc", name).stat().st_size <= _ETC_LIMIT:
                    texts[name] = Path("/etc", name).read_bytes()
        for name, text in texts.items():
            (folder / name).write_bytes(text)
            (folder / name).chmod(0o644)
        for name in ETC_BINDS:
            (folder / name).mkdir(parents=True, exist_ok=True)


class RootStage(Stage):
    """A stage made by root, in namespaces of the box's thread, which then becomes the box's user.

    Args:
        folder: an empty folder that the box's user can reach.
        policy: sizes, mounts and network.
        workspace: a host folder to use as workspace.
        uid: the box's user.
    """

    def __init__(self, folder: Path, policy: Policy, workspace: Path | None, uid: int) -> None:
        super().__init__(folder, policy, workspace)
        self.uid = uid
        self._sources: dict[Mount, str] = {}

    def open(self) -> None:
        """Set everything up in the box's thread, and drop its rights."""
        self.folder.mkdir(mode=0o755)
        try:
            self.worker.call(self._set_up)
        except OSError as error:
            raise SandboxError(
                f"Cannot set up the box: {error.filename}: {error.strerror}."
            ) from None

    def source(self, mount: Mount) -> str:
        """Return the path at which root has made the source reachable."""
        return self._sources[mount]

    def _set_up(self) -> None:
        flags = kernel.CLONE_FS | kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC
        if self.policy.network != "host":
            flags |= kernel.CLONE_NEWNET
        kernel.unshare(flags)
        # What the host unmounts later goes here too; nothing goes the other way.
        kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_SLAVE)
        plain = kernel.MS_NOSUID | kernel.MS_NODEV
        kernel.mount("tmpfs", str(self.folder), "tmpfs", plain, "size=1m,mode=755")
        for name, size in self.sizes().items():
            path = self.folder / name
            path.mkdir()
            options = f"mode=700,uid={self.uid},gid={self.uid}"
            if size is not None:
                options += f",size={size},nr_inodes={max(4096, size // 4096)}"
            kernel.mount("tmpfs", str(path), "tmpfs", plain, options)
        for number, mount in enumerate((*self.policy.mounts, *python_paths())):
            self._sources[mount] = self._reachable(mount, number)
        self._write_etc("")
        if self.policy.network == "loopback":
            kernel.raise_loopback()
        self._open_roots("")
        kernel.become(self.uid, self.uid)

    def _reachable(self, mount: Mount, number: int) -> str:
        """Bind a source into the stage: its own folder may be closed to the box's user."""
        target = self.folder / f"mount-{number}"
        if Path(mount.source).is_dir():
            target.mkdir()
        else:
            target.touch()
        kernel.mount(mount.source, str(target), None, kernel.MS_BIND | kernel.MS_REC)
        return str(target)


class UserStage(Stage):
    """A stage made without root: a process that holds the namespaces, which others enter.

    The holder ends when its input does, that is, when the owner closes it or dies.
    """

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
        argv = [self.bwrap, *self._arguments(), "--info-fd", str(child_info), *_HOLD]
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
            raise SandboxError(f"Cannot set up the box: {said!r}.")
        base = f"/proc/{pid}/root"
        self._write_etc(base)
        self._open_roots(base)
        enter = ["nsenter", "--preserve-credentials", "-t", str(pid), "-U", "-m", "-i"]
        if self.policy.network != "host":
            enter.append("-n")
        limit = str(self.policy.pids + 2) if self.policy.pids is not None else None
        # Set between the holder's user namespace and the box's own, it counts this box only.
        self.prefix = (*enter, "--", *(("prlimit", f"--nproc={limit}:{limit}") if limit else ()))

    def source(self, mount: Mount) -> str:
        """Return the source itself: the box has the caller's rights to it."""
        return mount.source

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

    def _arguments(self) -> list[str]:
        made = ["--unshare-user", "--unshare-ipc", "--die-with-parent", "--dev-bind", "/", "/"]
        if self.policy.network != "host":
            made.append("--unshare-net")
        made += ["--size", str(1 << 20), "--tmpfs", str(self.folder)]
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


@cache
def python_paths() -> tuple[Mount, ...]:
    """Return the parts of this Python that lie outside ``/usr``, each at its own path."""
    found: dict[str, Mount] = {}
    for prefix in (sys.base_prefix, sys.base_exec_prefix, sys.prefix):
        root = Path(prefix)
        if root.is_relative_to("/usr") or not root.is_dir():
            continue
        names = {path.name for path in root.iterdir()}
        # A prefix may be a project full of other things: then only what is Python's.
        parts = [root] if names <= _PREFIX_NAMES else [root / name for name in _PREFIX_NAMES]
        for path in parts:
            with suppress(ValueError):
                if path.exists() and not path.is_symlink():
                    found[str(path)] = Mount(str(path), str(path))
    return tuple(found.values())
