"""Base class for sandboxes made by container engines.

The engine makes one container per sandbox, whose only program sleeps, and applies the policy:
control groups, namespaces, a read-only root. The launcher starts commands in it, each in its own
process namespace below the container's, so that they behave as with the default backend.
"""

from __future__ import annotations

import os
import resource
import select
import signal
from abc import abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import Any

from ludus.errors import SandboxClosed, SandboxError
from ludus.sandbox.backend.blueprint import SLEEP, Bind, Blueprint
from ludus.sandbox.backend.gpus import Gpu, Reservation, reserve
from ludus.sandbox.backend.images import Image
from ludus.sandbox.backend.root_image import (
    ETC_BINDS,
    PLACES,
    python_paths,
    system_folders,
    system_links,
    write_etc,
)
from ludus.sandbox.contract import Sandbox
from ludus.sandbox.leases import Record
from ludus.sandbox.linux import cgroup, seccomp, uids
from ludus.sandbox.linux.chosen_packages import shown_with
from ludus.sandbox.linux.container_cgroups import AdoptedGroups
from ludus.sandbox.linux.entrance import Entrance
from ludus.sandbox.linux.uncharged_memory import Bound, ConnectionLimit, LockLimit
from ludus.sandbox.linux.visible_files import Steps
from ludus.sandbox.policy import Policy
from ludus.sandbox.process_handle import SandboxCommand, SandboxProcess
from ludus.sandbox.results import Enforcement, Usage

__all__ = [
    "SANDBOX_LABEL",
    "ContainerSandbox",
    "give_back_user",
    "why_no_sandbox",
    "why_not_here",
]

SANDBOX_LABEL = "ludus.box"
"""The label of a container that says which sandbox it is; nothing without it is ever touched."""

# What engines mount for programs that expect a machine: of no use to a sandbox, and the host's.
_HIDDEN = ("/sys", "/dev/mqueue", "/run/.containerenv", "/run/secrets")
_HIDDEN_ETC = ("/etc/resolv.conf", "/etc/hostname", "/etc/hosts", "/etc/passwd", "/etc/group")
# Of an image's /etc, what knows the sandbox's user and the name of its loopback.
_OWN_ETC = ("/etc/passwd", "/etc/group", "/etc/hosts")
# Mounted and closed whatever an image says.
_SET_UP = ("/", "/dev", "/proc")
_MIB = 1 << 20
_LAST = 0.2


class ContainerSandbox(Sandbox):
    """A sandbox in a container.

    A backend implements ``find_image``, ``find_gpus``, ``_make`` and ``_remove``.
    """

    takes_image = True
    has_gpus = True
    _reservation: Reservation | None = None
    _entrance: Entrance | None = None
    _groups: AdoptedGroups | None = None
    _bounds: tuple[Bound, ...] = ()
    _process: int | None = None
    _path = ""
    _uid: int = 0
    _leased = False

    @classmethod
    def enforcement(cls) -> Enforcement:
        """Return what holds here: everything where there are control groups."""
        return Enforcement(cgroup.missing(), cgroup.missing_with_network())

    @classmethod
    @abstractmethod
    def find_image(cls, name: str) -> Image:
        """Return an image that is on this machine.

        Raises:
            ValueError: this is no name of an image.
            ImageMissing: it is not here.
        """

    @classmethod
    @abstractmethod
    def find_gpus(cls) -> tuple[Gpu, ...]:
        """Return the GPUs that can be passed through.

        Raises:
            PolicyNotEnforceable: there are none; the message says what is missing.
        """

    @abstractmethod
    def _make(self, blueprint: Blueprint) -> int:
        """Create and start the container, and return its first process.

        Raises:
            SandboxError: the engine refuses; the message quotes it.
        """

    @abstractmethod
    def _remove(self) -> None:
        """Remove the container if it exists, and return when it is gone.

        Raises:
            SandboxError: the engine does not remove it.
        """

    def _open(self) -> None:
        self._roots: dict[str, int] = {}
        image = None if self.image is None else self.find_image(self.image)
        self._path = "" if image is None else image.path
        if self.policy.gpus:
            self._reservation = reserve(self.policy.gpus, self.find_gpus())
            self.gpus = self._reservation.names
        self._uid, self._leased = uids.choose_user(self.policy, self.workspace, self._lease)
        self._entrance = Entrance()
        blueprint = self._blueprint(image)
        self._lease.note(container=blueprint.name, **self._address())
        pid = self._make(blueprint)
        self._process = self._hold(pid)
        self._groups = AdoptedGroups(pid, self.policy)
        if self.policy.memory is not None:
            self._bounds = (LockLimit(self._groups),)
            if self.policy.network == "loopback":
                folder, most = f"/proc/{pid}/net", self.policy.memory // 8
                self._bounds += (ConnectionLimit(self._groups, folder, most),)
        settings = self._settings(blueprint)
        self._roots = self._entrance.open(settings, self._process, self._groups.doors)

    def _address(self) -> dict[str, Any]:
        """Return where the engine is, for the lease."""
        return {}

    def _hold(self, pid: int) -> int:
        """Return a descriptor of the container's first process, once it is surely that."""
        try:
            process = os.pidfd_open(pid)
        except (OSError, ValueError):
            raise SandboxError(
                f"The container ended at once; its image needs a program {SLEEP[0]!r}."
            ) from None
        with suppress(OSError):
            own = Path("/proc/self/ns")
            spaces = Path(f"/proc/{pid}/ns")
            foreign = (spaces / "pid").stat().st_ino != (own / "pid").stat().st_ino
            if (spaces / "user").stat().st_ino != (own / "user").stat().st_ino:
                os.close(process)
                raise SandboxError(
                    "The engine gives containers user namespaces of their own, which this backend "
                    "cannot enter. Switch its user remapping off, or use bubblewrap."
                )
            if foreign and Path(f"/proc/{pid}").stat().st_uid in (self._uid, 0):
                signal.pidfd_send_signal(process, 0)
                return process
        os.close(process)
        raise SandboxError("The container ended at once.")

    def _blueprint(self, image: Image | None) -> Blueprint:
        folder = self._lease.folder / "stage"
        folder.mkdir(mode=0o755)
        binds = [Bind(mount.source, mount.target, mount.writable) for mount in self.policy.mounts]
        if image is None:
            binds = [*_system_binds(folder, self.policy, self._uid), *binds]
        else:
            write_etc(folder / "etc", self.policy.network, self._uid)
            binds = [*(Bind(f"{folder}{path}", path) for path in _OWN_ETC), *binds]
        sizes = {"/workspace": self.policy.disk, **dict.fromkeys([*PLACES][1:], self.policy.tmp)}
        if self.workspace is not None:
            del sizes["/workspace"]
            binds.append(Bind(str(self.workspace), "/workspace", writable=True))
        return Blueprint(
            name=f"ludus-{self.name}",
            sandbox=self.name,
            uid=self._uid,
            image=image,
            folder=folder,
            binds=tuple(binds),
            sizes=sizes,
            policy=self.policy,
            gpus=() if self._reservation is None else self._reservation.gpus,
        )

    def _settings(self, blueprint: Blueprint) -> dict[str, Any]:
        """Return what the launcher is to know; see ``launcher``."""
        network = self.policy.network
        hidden = [path for path in _HIDDEN_ETC if blueprint.image is None or path not in _OWN_ETC]
        volumes = () if blueprint.image is None else blueprint.image.volumes
        return {
            "uid": self._uid,
            "own_network": network != "host",
            "loopback": network == "loopback",
            "hidden": [*_HIDDEN, *hidden],
            "places": {
                place: _sized(blueprint.sizes[place]) if place in blueprint.sizes else None
                for place in PLACES
            },
            "closed": [bind.target for bind in blueprint.binds if not bind.writable],
            "volumes": [path for path in volumes if path not in (*_SET_UP, *blueprint.sizes)],
            "shown": _shown(blueprint),
            "limits": _limits(self.policy),
            "filter": seccomp.program(network, netlink=self.policy.memory is None).hex(),
        }

    def _spawn(self, command: SandboxCommand) -> SandboxProcess:
        if self._entrance is None:
            raise SandboxClosed(f"Sandbox {self.name} is not open.")
        return self._entrance.start(command, self._uid)

    def _root(self, place: str) -> int:
        if place not in self._roots:
            raise SandboxClosed(f"Sandbox {self.name} is not open.")
        return self._roots[place]

    def _base_environment(self) -> dict[str, str]:
        usual = super()._base_environment()
        return usual | {"PATH": self._path} if self._path else usual

    def _owner(self) -> int | None:
        return self._uid

    def _was_cut_off(self, job: SandboxProcess) -> bool:
        # The container's first process ends last; nothing in the sandbox can see or signal it.
        return super()._was_cut_off(job) or self._has_ended(_LAST)

    def _has_ended(self, patience: float) -> bool:
        if self._process is None or self._entrance is None or self._entrance.has_ended:
            return True
        poller = select.poll()
        poller.register(self._process, select.POLLIN)
        return bool(poller.poll(patience * 1000))

    def _usage(self, wall_seconds: float) -> Usage:
        if self._groups is None or not self._roots:
            return Usage(wall_seconds=wall_seconds)
        if self._has_ended(0.0):
            raise SandboxClosed(f"The container of sandbox {self.name} was ended from outside.")
        now, peak = self._groups.memory()
        disk = os.fstatvfs(self._root("/workspace"))
        return Usage(
            cpu_seconds=self._groups.cpu_seconds(),
            memory_now=now,
            memory_peak=peak,
            pids_now=self._groups.pids(),
            disk_used=(disk.f_blocks - disk.f_bfree) * disk.f_frsize,
            wall_seconds=wall_seconds,
        )

    def _oom_kills(self) -> int:
        killed = sum(bound.kills for bound in self._bounds)
        return killed if self._groups is None else killed + self._groups.oom_kills()

    def _close(self) -> None:
        for bound in self._bounds:
            bound.close()
        for descriptor in self._roots.values():
            os.close(descriptor)
        self._roots = {}
        if self._process is not None:
            _end(self._process)
        if self._entrance is not None:
            self._entrance.close()
        if self._groups is not None:
            self._groups.close()
        if self._uid:
            self._remove()
        if self._leased:
            uids.release_uid(self._uid)
        if self._reservation is not None:
            self._reservation.close()


def why_not_here() -> str | None:
    """Return why no engine's container can be entered here; ``None`` if one can."""
    if os.geteuid() != 0:
        return (
            f"Found user {os.geteuid()}; containers are entered and held to their limits by root. "
            "Without root, use bubblewrap."
        )
    if os.uname().machine not in ("x86_64", "aarch64"):
        return f"Found a {os.uname().machine}; there are system call tables for x86_64 and aarch64."
    return None


def why_no_sandbox(kind: type[ContainerSandbox]) -> str | None:
    """Return why a smallest sandbox of a backend does not run here, by trying."""
    none: dict[str, Any] = dict.fromkeys(("memory", "cpus", "pids"))
    try:
        with kind(Policy(**none), label="trial") as sandbox:
            sandbox.run(["true"], timeout=20).check()
    except SandboxError as error:
        return f"A first sandbox failed: {error}"
    return None


def give_back_user(record: Record) -> None:
    """Kill what runs as the user that a dead owner's sandbox had leased, and free the user."""
    uid = record.get("uid")
    if uid is not None:
        uids.kill_user(uid)
        uids.release_uid(uid)


def _system_binds(folder: Path, policy: Policy, uid: int) -> list[Bind]:
    """Make a root of the host's own folders in ``folder`` and return what is bound into it."""
    root, etc = folder / "root", folder / "etc"
    root.mkdir(mode=0o755)
    for path, target in system_links().items():
        (root / path.lstrip("/")).symlink_to(target)
    write_etc(etc, policy.network, uid)
    for name in ("hostname", "resolv.conf"):
        # Engines mount these whether or not there is a network.
        (etc / name).touch()
    shown = [Path("/etc", name) for name in ETC_BINDS if Path("/etc", name).is_dir()]
    return [
        *(Bind(path, path) for path in system_folders()),
        Bind(str(etc), "/etc"),
        *(Bind(str(path), str(path)) for path in shown),
        *(Bind(mount.source, mount.target) for mount in python_paths()),
    ]


def _shown(blueprint: Blueprint) -> list[tuple[str, Steps]]:
    """Return what the launcher mounts anew, with what is seen of each."""
    chosen = shown_with(blueprint.policy.packages)
    steps = {shown.folder: shown.steps for shown in chosen}
    closed = [bind for bind in blueprint.binds if not bind.writable]
    whole: Steps = ()
    return [
        (bind.target, steps.get(bind.source, whole) if bind.source == bind.target else whole)
        for bind in closed
    ]


def _sized(size: int | None) -> str:
    return "" if size is None else f"size={size},nr_inodes={max(4096, size // 4096)}"


def _limits(policy: Policy) -> list[tuple[int, int]]:
    """Return the limits of each process, none above what the owner itself has."""
    # One byte: a host that pipes core dumps to a program does so even where the limit is zero.
    limits = {resource.RLIMIT_CORE: 1, resource.RLIMIT_MEMLOCK: 8 * _MIB}
    if policy.files is not None:
        limits[resource.RLIMIT_NOFILE] = policy.files
    return [
        (limit, min(value, hard) if (hard := resource.getrlimit(limit)[1]) >= 0 else value)
        for limit, value in limits.items()
    ]


def _end(process: int) -> None:
    """Kill a container by its first process, and wait until it has ended."""
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(process, signal.SIGKILL)
    poller = select.poll()
    poller.register(process, select.POLLIN)
    poller.poll(5000)
    os.close(process)
