"""The control groups that an engine has made for a container: joined and read, not made."""

from __future__ import annotations

import os
from pathlib import Path

from ludus.errors import SandboxError
from ludus.sandbox.linux.cgroup import below, groups_of, memory_limits, mounted
from ludus.sandbox.linux.cgroup_usage import Gauges
from ludus.sandbox.policy import Policy

__all__ = ["AdoptedGroups", "group_folders"]


class AdoptedGroups(Gauges):
    """The control groups of a process that an engine has started.

    Args:
        pid: the process; the caller holds it, so that the number stays its own.
        policy: limits, of which those are set that no engine has an option for.

    Attributes:
        doors: descriptors to which a process writes ``0`` to join.

    Raises:
        SandboxError: they cannot be found or joined from here.
    """

    def __init__(self, pid: int, policy: Policy) -> None:
        super().__init__()
        self._policy = policy
        self.doors: list[int] = []
        try:
            mounts = Path("/proc/self/mountinfo").read_text()
            folders = group_folders(mounts, Path(f"/proc/{pid}/cgroup").read_text())
            for names, folder in folders.items():
                self._adopt(names, folder)
        except OSError as error:
            self.close()
            raise SandboxError(f"Cannot reach the container's control groups: {error}.") from None

    def close(self) -> None:
        """Close the files; the groups are the engine's to remove."""
        self._close_gauges()
        for door in self.doors:
            os.close(door)
        self.doors = []

    def _adopt(self, names: frozenset[str], folder: Path) -> None:
        two = not names
        if two:
            controllers = (folder / "cgroup.controllers").read_text().split()
            if not controllers:
                return  # limits nothing: what is limited is in the groups of version 1
            names = frozenset(controllers)
        # In version 1 a thread that moves itself needs no lock, unlike a process.
        door = folder / ("cgroup.procs" if two else "tasks")
        self.doors.append(os.open(door, os.O_WRONLY | os.O_CLOEXEC))
        if "memory" in names:
            if self._policy.memory is not None and self._policy.network != "none":
                for name, text in memory_limits(self._policy, two=two):
                    if (folder / name).exists():
                        (folder / name).write_text(text)
            self._watch_memory(folder, 2 if two else 1)
        if "pids" in names:
            self._watch("processes", folder / "cgroup.procs")
        if two or "cpuacct" in names:
            self._watch("cpu", folder / ("cpu.stat" if two else "cpuacct.usage"))


def group_folders(mountinfo: str, membership: str) -> dict[frozenset[str], Path]:
    """Return the folders of a process's groups by controller; version 2 has an empty name.

    Args:
        mountinfo: text of ``/proc/self/mountinfo``.
        membership: text of the process's ``/proc/PID/cgroup``.
    """
    places = list(mounted(mountinfo))
    return {
        names: below(point, root, path)
        for names, path in groups_of(membership).items()
        for options, root, point in places
        if names <= options and bool(names) == bool(options)
    }
