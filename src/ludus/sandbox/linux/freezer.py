"""Stops some processes of a sandbox so that nothing in the sandbox can continue them.

A stopped process (SIGSTOP) can have itself continued, by a timer or a descriptor that sends
SIGCONT. One in a frozen control group cannot run at all.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from ludus.errors import SandboxError
from ludus.sandbox.linux import cgroup

__all__ = ["Freezer", "freezer_parent"]

_PATIENCE = 2.0
_LONGEST_TREE = 64


class Freezer:
    """A control group whose processes can be frozen, of either version.

    Args:
        folder: the group, which is made.

    Raises:
        SandboxError: the kernel refuses it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir()
        except OSError as error:
            raise SandboxError(f"Cannot make the control group {folder}: {error}.") from None
        one = (folder / "freezer.state").exists()
        self._control = folder / ("freezer.state" if one else "cgroup.freeze")
        self._words = ("THAWED", "FROZEN") if one else ("0", "1")
        self._state = self._control if one else folder / "cgroup.events"
        self._frozen = "FROZEN" if one else "frozen 1"

    def add_tree(self, pid: int) -> None:
        """Put a process and all below it into the group; they must start no other meanwhile.

        Raises:
            SandboxError: the kernel refuses it, or they are too many.
        """
        found: list[int] = []
        todo = [pid]
        while todo and len(found) < _LONGEST_TREE:
            found.append(todo.pop())
            todo += _children(found[-1])
        if todo:
            raise SandboxError(f"There are too many processes to put into {self.folder}.")
        for each in found:
            self.add(each)

    def add(self, pid: int) -> None:
        """Put one process into the group.

        Raises:
            SandboxError: the kernel refuses it.
        """
        try:
            if pid <= 0:
                raise ProcessLookupError("the process is gone")  # 0 would be this process
            (self.folder / "cgroup.procs").write_text(str(pid))
        except OSError as error:
            raise SandboxError(f"Cannot put {pid} into {self.folder}: {error}.") from None

    def freeze(self) -> bool:
        """Stop all processes in the group; return whether they have stopped."""
        self._control.write_text(self._words[1])
        until = time.monotonic() + _PATIENCE
        while self._frozen not in self._state.read_text():
            if time.monotonic() > until:
                return False
            time.sleep(0.001)
        return True

    def thaw(self) -> None:
        """Let them go on."""
        with suppress(FileNotFoundError):
            self._control.write_text(self._words[0])

    def close(self) -> None:
        """Kill what is left in the group and remove it."""
        cgroup.kill_group(self.folder)


def freezer_parent(groups: list[Path]) -> Path | None:
    """Return where a group that can be frozen is to be made; ``None`` if there is no place.

    Args:
        groups: the sandbox's control groups, whose limits its processes must keep.
    """
    if os.geteuid() != 0:
        return None
    own = cgroup.groups_of(Path("/proc/self/cgroup").read_text())
    path = next((path for names, path in own.items() if "freezer" in names), "/")
    for names, root, point in cgroup.mounted(Path("/proc/self/mountinfo").read_text()):
        if "freezer" in names:
            return cgroup.below(point, root, path)
    two = [folder for folder in groups if (folder / "cgroup.freeze").exists()]
    # Below the sandbox's own group of version 2, so that its limits hold.
    return two[0] if two else None


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    return found
