"""Control groups: resource limits of a whole process tree. Version 1, version 2 and both at once.

A sandbox's groups are made below the group of this process (version 2: below the nearest one that
may have children with these controllers), so that it never gets more than its owner has.

A process joins after exec and before it does anything for the sandbox. Between fork and exec it
still shares this process's memory, and must not be in a group whose out-of-memory killer is meant
for the sandbox.

In version 1 it moves itself, through a shell that then becomes the program. Moving another process
would make the kernel wait several milliseconds for a grace period.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ludus.errors import SandboxError
from ludus.sandbox.linux.cgroup_usage import Gauges
from ludus.sandbox.policy import Policy

__all__ = [
    "CgroupHierarchy",
    "Group",
    "below",
    "groups_of",
    "kill_group",
    "memory_limits",
    "missing",
    "missing_for_sockets",
    "missing_with_network",
    "mounted",
]

_PERIOD, _PREFIX = 100_000, "ludus-"
_SHELL = ("/bin/bash", "--norc", "--noprofile", "-c")
_FIELDS = {"memory": "memory", "cpus": "cpu", "pids": "pids"}
# Version 1 counts what sockets of a network keep apart from all other memory.
_SOCKETS = "memory.kmem.tcp.limit_in_bytes"
_SOCKETS_SHARE = 8


@dataclass(frozen=True, slots=True)
class CgroupHierarchy:
    """Where the groups of sandboxes go, by controller; ``unified`` are those of version 2."""

    parents: dict[str, Path]
    unified: frozenset[str]

    @classmethod
    def read(cls, mountinfo: str, membership: str) -> CgroupHierarchy:
        """Find the parents from the texts of ``/proc/self/mountinfo`` and ``/proc/self/cgroup``."""
        groups = groups_of(membership)
        own = {name: path for names, path in groups.items() for name in names or ("",)}
        parents: dict[str, Path] = {}
        unified: set[str] = set()
        for names, root, point in mounted(mountinfo):
            for name in names & set(_FIELDS.values()):
                parents[name] = below(point, root, own.get(name, "/"))
            if not names:
                parent = _delegated(below(point, root, own.get("", "/")), Path(point))
                for name in _words(parent / "cgroup.controllers"):
                    if name in _FIELDS.values() and name not in parents:
                        parents[name] = parent
                        unified.add(name)
        return cls(parents, frozenset(unified))


def mounted(mountinfo: str) -> Iterator[tuple[frozenset[str], str, str]]:
    """Yield controllers, root and mount point of the hierarchies; version 2 has no controllers.

    Among the controllers are the other options of the mount.
    """
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        root, point = left.split()[3:5]
        kind, _, options = right.split()[:3]
        if kind in ("cgroup", "cgroup2"):
            yield frozenset(options.split(",") if kind == "cgroup" else ()), root, point


def groups_of(membership: str) -> dict[frozenset[str], str]:
    """Return a process's groups by controllers, from the text of its ``/proc/PID/cgroup``."""
    rows = (line.split(":", 2) for line in membership.splitlines())
    return {frozenset(names.split(",") if names else ()): path for _, names, path in rows}


def below(point: str, root: str, own: str) -> Path:
    """Return the folder of group ``own`` in a hierarchy whose group ``root`` is mounted."""
    inside = own.removeprefix(root) if root != "/" else own
    return Path(point) / inside.strip("/")


@cache
def _layout() -> CgroupHierarchy:
    try:
        mounts = Path("/proc/self/mountinfo").read_text()
        return CgroupHierarchy.read(mounts, Path("/proc/self/cgroup").read_text())
    except OSError:
        return CgroupHierarchy({}, frozenset())


@cache
def missing() -> dict[str, str]:
    """Return why limits of a policy cannot be held by control groups here, by field."""
    layout, reasons = _layout(), {}
    for field, controller in _FIELDS.items():
        parent = layout.parents.get(controller)
        if parent is None:
            reasons[field] = f"this machine has no {controller} control group"
        elif not os.access(parent, os.W_OK):
            reasons[field] = f"this user may not make control groups in {parent}"
        elif controller in layout.unified and not _enable(parent, controller):
            reasons[field] = (
                f"the {controller} controller cannot be enabled in {parent}; run under a systemd "
                "scope with Delegate=yes"
            )
    return reasons


@cache
def missing_for_sockets() -> str | None:
    """Return why memory that sockets of a network keep cannot be limited; ``None`` if it can."""
    layout, options = _layout(), _words(Path("/proc/cmdline"))
    parent = layout.parents.get("memory")
    if parent is None:
        return None  # missing() says so
    if "memory" not in layout.unified:
        if (parent / _SOCKETS).exists():
            return None
        return f"this kernel does not count what sockets keep: there is no {parent / _SOCKETS}"
    for option in options:
        name, _, words = option.partition("=")
        if name == "cgroup.memory" and {"nosocket", "nokmem"} & set(words.split(",")):
            return f"this kernel was started with {option}, and does not count what sockets keep"
    return None


def missing_with_network() -> dict[str, str]:
    """Return why limits cannot be held once a sandbox has a network, by field."""
    reason = missing_for_sockets()
    return {} if reason is None else {"memory": reason}


def memory_limits(policy: Policy, *, two: bool) -> list[tuple[str, str]]:
    """Return the files of a memory group, in the order in which to write them.

    Version 2 counts sockets with the rest.
    """
    memory = policy.memory or 0
    if two:
        return [("memory.max", str(memory)), ("memory.swap.max", "0")]
    sockets = 0 if policy.network == "none" else memory // _SOCKETS_SHARE
    rest = str(memory - sockets)
    # The second counts swap too; it can only be set after the first, and not everywhere.
    made = [("memory.limit_in_bytes", rest), ("memory.memsw.limit_in_bytes", rest)]
    return [*made, (_SOCKETS, str(sockets))] if sockets else made


class Group(Gauges):
    """The control groups of one sandbox.

    Args:
        name: their name.
        policy: limits; a field that is ``None`` needs no group.
        skip: fields that are enforced by other means.
    """

    def __init__(self, name: str, policy: Policy, *, skip: Iterable[str] = ()) -> None:
        super().__init__()
        layout = _layout()
        asked = {f for f in _FIELDS if getattr(policy, f) is not None} - set(skip)
        places = {layout.parents[_FIELDS[f]] / f"{_PREFIX}{name}" for f in asked}
        self.folders = sorted(places)
        self._policy, self._asked, self._layout = policy, asked, layout
        self._memory = self._place("memory") if "memory" in asked else None
        self._two = "memory" in layout.unified
        self.doors: list[int] = []
        self.forgets_cache = False
        """Whether pages of files that the sandbox was the first to read are dropped with it."""

    def open(self) -> None:
        """Make the groups and set their limits.

        Raises:
            SandboxError: the kernel refuses one.
        """
        try:
            for folder in self.folders:
                folder.mkdir()
            for field in self._asked:
                controller = _FIELDS[field]
                two = controller in self._layout.unified
                for file, text in _limits(field, self._policy, two=two):
                    _set(self._place(controller) / file, text)
            for folder in self.folders:
                if (folder / "tasks").exists():
                    self.doors.append(os.open(folder / "tasks", os.O_WRONLY | os.O_CLOEXEC))
            if self.folders:
                self._watch("processes", self.folders[0] / "cgroup.procs")
            if self._memory is not None:
                self._watch_memory(self._memory, 2 if self._two else 1)
        except OSError as error:
            raise SandboxError(
                f"Cannot set up the control group {error.filename!r}: {error.strerror}."
            ) from None

    def entrance(self) -> list[str]:
        """Return the command line prefix that joins the groups of version 1.

        It inherits :attr:`doors` and closes them.
        """
        if not self.doors:
            return []
        steps = "".join(f"echo 0 >&{door} && " for door in self.doors)
        closed = " ".join(f"{door}>&-" for door in self.doors)
        return [*_SHELL, f'{steps}exec "$@" {closed}; exit 125', "bash"]

    def join(self, pid: int) -> None:
        """Put a process in the groups of version 2; all it starts from now on is in them too."""
        for folder in self.folders:
            if not (folder / "tasks").exists():
                (folder / "cgroup.procs").write_text(str(pid))

    def close(self) -> None:
        """Kill what is left in the groups and remove them."""
        self._close_gauges()
        for descriptor in self.doors:
            os.close(descriptor)
        self.doors = []
        for folder in self.folders:
            kill_group(folder, forget=self.forgets_cache)

    def _place(self, controller: str) -> Path:
        parent = self._layout.parents[controller]
        return next(folder for folder in self.folders if folder.parent == parent)


_PATIENCE = 5.0
"""Seconds in which killed processes should have ended."""
_THAW = (("freezer.state", "THAWED"), ("cgroup.freeze", "0"))  # frozen, they would not end
_FORGET = (("memory.force_empty", "0"), ("memory.reclaim", "1T"))  # version 1, version 2


def kill_group(folder: Path, *, forget: bool = False) -> None:
    """Kill every process in a sandbox's group and remove it, unless it is gone already.

    With ``forget``, drop the pages of files that the group was the first to read.

    Raises:
        ValueError: the group was not made for a sandbox.
    """
    if not folder.name.startswith(_PREFIX):
        raise ValueError(f"{folder} is no group of a sandbox; its processes are not ours to kill.")
    deadline = time.monotonic() + _PATIENCE
    for file, text in _THAW:
        if (folder / file).exists():
            (folder / file).write_text(text)
    while True:
        if forget and not _words(folder / "cgroup.procs"):
            for file, text in _FORGET:
                with suppress(OSError):
                    (folder / file).write_text(text)
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
        else:
            return
        for pid in _words(folder / "cgroup.procs"):
            # A process of another process namespace is listed as 0, which would mean ourselves.
            if int(pid) > 1:
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
        time.sleep(0.001)


def _limits(field: str, policy: Policy, *, two: bool) -> list[tuple[str, str]]:
    if field == "memory":
        return memory_limits(policy, two=two)
    if field == "cpus":
        quota = max(1000, int((policy.cpus or 0) * _PERIOD))
        if two:
            return [("cpu.max", f"{quota} {_PERIOD}")]
        return [("cpu.cfs_period_us", str(_PERIOD)), ("cpu.cfs_quota_us", str(quota))]
    return [("pids.max", str(policy.pids))]


def _set(file: Path, text: str) -> None:
    optional = file.name in ("memory.memsw.limit_in_bytes", "memory.swap.max")
    if not (optional and not file.exists()):
        file.write_text(text)


def _delegated(own: Path, top: Path) -> Path:
    """Return the nearest group from ``own`` upwards that already gives its children memory."""
    here = own
    while here != top and "memory" not in _words(here / "cgroup.subtree_control"):
        here = here.parent
    return here


def _enable(parent: Path, controller: str) -> bool:
    control = parent / "cgroup.subtree_control"
    if controller not in _words(control):
        with suppress(OSError):
            control.write_text(f"+{controller}")
    return controller in _words(control)


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []
