"""Handle of a process namespace: kill all of it, or all but its first process."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

__all__ = ["PidSpace", "only_child"]

_NSENTER = ("nsenter",)
_NS_GET_USERNS = 0xB701
_KILL_OTHERS = "kill -KILL -1"
# Never as root: a mistake in this one line must not be able to reach beyond the sandbox's user.
_KILL_OTHERS_OF_USER = f"[[ $EUID != 0 ]] && {_KILL_OTHERS}"

_ROUNDS, _LOOKS = 3, 20
_PF_EXITING = 0x4
_SIGKILL_BIT = 1 << (signal.SIGKILL - 1)


class PidSpace:
    """The namespace whose first process is ``pid``.

    It is held by descriptors, so that a later process with the same pid is never affected.

    Args:
        pid: the first process; a child of a process that has not reaped it.
        first: a descriptor of it, if the caller has one; owned by this object from then on.

    Raises:
        ProcessLookupError: it is gone, or is not in a namespace of its own.
    """

    def __init__(self, pid: int, first: int | None = None) -> None:
        self._first = os.pidfd_open(pid) if first is None else first
        self._spaces: dict[str, int] = {}
        try:
            space = os.open(f"/proc/{pid}/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
            self._spaces["pid"] = space
            # The process may be in a user namespace further in, without rights over its own.
            self._spaces["user"] = fcntl.ioctl(space, _NS_GET_USERNS)
            # Alive now, it was alive when the namespaces were opened by its number.
            signal.pidfd_send_signal(self._first, 0)
            own = Path("/proc/self/ns/pid").stat()
            found = os.fstat(self._spaces["pid"])
            if (own.st_dev, own.st_ino) == (found.st_dev, found.st_ino):
                raise ProcessLookupError(f"{pid} is in no process namespace of its own.")
        except OSError as error:
            self.close()
            raise ProcessLookupError(str(error)) from None

    def signal_first(self, number: signal.Signals) -> None:
        """Send a signal to the first process; SIGKILL ends the whole namespace."""
        if self._first >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._first, number)

    def is_at_rest(self) -> bool:
        """Return whether the first process is stopped and alone; ``False`` if that is unknown.

        Orphans become children of the first process. Processes that are being killed do not count:
        while their parent is stopped nobody reaps them.
        """
        try:
            told = Path(f"/proc/self/fdinfo/{self._first}").read_text("ascii")
            process = Path("/proc", told.partition("Pid:")[2].split()[0])
            # A thread stops on its way out of the kernel, and may have forked before.
            for _ in range(_LOOKS):
                if _is_stopped(process):
                    break
                time.sleep(0.001)
            children = _children(process)
            # A list that changes while it is read may lack some. And whoever is in it and alive
            # could have continued the first process since.
            return (
                all(map(_is_ending, children))
                and children == _children(process)
                and _is_stopped(process)
            )
        except (OSError, IndexError):
            return False

    def leave_stopped(self, uid: int | None) -> None:
        """Stop the first process and kill all others; kill it too if others keep appearing.

        Only processes inside the namespace could continue it.
        """
        self.signal_first(signal.SIGSTOP)
        for _ in range(_ROUNDS):
            if self.is_at_rest():
                return
            self.kill_others(uid)
            # One of them may have continued it meanwhile.
            self.signal_first(signal.SIGSTOP)
        if not self.is_at_rest():
            self.signal_first(signal.SIGKILL)

    def kill_others(self, uid: int | None) -> None:
        """Kill everything in the namespace but its first process, by one kill(-1) from inside.

        Args:
            uid: the user to do it as, where this process is root; ``None``: this user.
        """
        if uid == 0 or (uid is None and os.geteuid() == 0):
            raise ValueError("Processes of a sandbox are not killed as root.")
        pid, user = self._spaces["pid"], self._spaces["user"]
        enter, script = [f"--pid=/proc/self/fd/{pid}"], _KILL_OTHERS_OF_USER
        if uid is None:
            enter += [f"--user=/proc/self/fd/{user}", "--preserve-credentials"]
            script = _KILL_OTHERS
        else:
            enter += [f"--setuid={uid}", f"--setgid={uid}"]
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run(  # noqa: S603 - our own arguments
                [*_NSENTER, *enter, "--", "/bin/bash", "-c", script],
                pass_fds=(pid, user),
                env={"PATH": "/usr/bin:/bin"},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=5.0,
                check=False,
            )

    def close(self) -> None:
        """Let go of the namespace."""
        for descriptor in (self._first, *self._spaces.values()):
            if descriptor >= 0:
                os.close(descriptor)
        self._first = -1
        self._spaces = {}


def _is_stopped(process: Path) -> bool:
    """Return whether all threads of a process are stopped."""
    return all(_fields(thread)[0] == "T" for thread in (process / "task").iterdir())


def _children(process: Path) -> list[str]:
    # A process is listed as the child of the thread that started it.
    threads = (process / "task").iterdir()
    return [pid for thread in threads for pid in (thread / "children").read_text("ascii").split()]


def _fields(process: Path) -> list[str]:
    """Return what follows the name in a process's ``stat``: state, parent, and so on."""
    return (process / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()


def _is_ending(pid: str) -> bool:
    """Return whether a process has been killed, even if it is not gone yet."""
    try:
        fields = _fields(Path("/proc", pid))
        if fields[0] in "ZX" or int(fields[6]) & _PF_EXITING:
            return True
        status = Path(f"/proc/{pid}/status").read_text("utf-8", "replace")
    except (FileNotFoundError, ProcessLookupError):
        return True
    return bool(int(status.partition("SigPnd:")[2].split()[0], 16) & _SIGKILL_BIT)


def only_child(pid: int | None) -> int | None:
    """Return the only child of a process that has one; ``None`` if it has none or several."""
    if pid is None:
        return None
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with suppress(OSError):
                fields = Path(f"/proc/{entry.name}/stat").read_text().rpartition(")")[2].split()
                if int(fields[1]) == pid:
                    found.append(int(entry.name))
    return found[0] if len(found) == 1 else None
