"""Handle of a process namespace: kill all of it, or all but its first process."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from ludus.errors import SandboxError

__all__ = ["PidSpace", "end_space", "has_ended", "only_child"]

_NSENTER = ("nsenter",)
_NS_GET_USERNS = 0xB701
# The status tells a kill that was sent, even if it found nobody, from everything that can fail.
_SENT = 42
_KILL_OTHERS = f"kill -KILL -1; exit {_SENT}"
# Never as root: a mistake in this one line must not be able to reach beyond the sandbox's user.
_KILL_OTHERS_OF_USER = f"[[ $EUID != 0 ]] || exit 1; {_KILL_OTHERS}"

# Seconds to wait for the first process to stop, by attempt: on a busy machine it takes a while.
_STOPS = (0.02, 0.1, 0.5, 1.0)
_LOOK_AGAIN, _LOOK_SELDOM, _PATIENCE = 1e-4, 5e-3, 5.0
# Seconds in which a namespace that was killed has ended, on a busy machine too.
_ENDING = 20.0
_RUNS = re.compile(r"^(?:State|(?:non)?voluntary_ctxt_switches):\s*(\S+)", re.MULTILINE)
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
        OSError: no more descriptors can be opened.
    """

    def __init__(self, pid: int, first: int | None = None) -> None:
        self._first = os.pidfd_open(pid) if first is None else first
        self._opened: dict[str, int] = {}
        try:
            self._opened["process"] = os.open(f"/proc/{pid}", os.O_PATH | os.O_CLOEXEC)
            space = os.open(f"/proc/{pid}/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
            self._opened["pid"] = space
            # The process may be in a user namespace further in, without rights over its own.
            self._opened["user"] = fcntl.ioctl(space, _NS_GET_USERNS)
            # Alive now, it was alive when the namespaces were opened by its number.
            signal.pidfd_send_signal(self._first, 0)
            own = Path("/proc/self/ns/pid").stat()
            found = os.fstat(self._opened["pid"])
            if (own.st_dev, own.st_ino) == (found.st_dev, found.st_ino):
                raise ProcessLookupError(f"{pid} is in no process namespace of its own.")
        except OSError as error:
            self.close()
            raise ProcessLookupError(str(error)) from None

    @property
    def _process(self) -> Path:
        """The first process in ``/proc``; nothing is there once it is gone."""
        return Path(f"/proc/self/fd/{self._opened['process']}")

    def signal_first(self, number: signal.Signals) -> None:
        """Send a signal to the first process; SIGKILL ends the whole namespace."""
        if self._first >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._first, number)

    def first_pid(self) -> int:
        """Return the first process's number; it has none, which is 0, once it is gone."""
        with suppress(OSError):
            return int((self._process / "stat").read_text("utf-8", "replace").split(None, 1)[0])
        return 0

    def stop_first(self) -> None:
        """Stop the first process; kill it if it has a timer, which could continue it."""
        self.signal_first(signal.SIGSTOP)
        if self._has_timers():
            self.signal_first(signal.SIGKILL)

    def is_at_rest(self, patience: float = _STOPS[0]) -> bool:
        """Return whether the first process is stopped for good; ``False`` if that is unknown.

        It then has no timer, and all its children have ended: one that is only about to end could
        still continue it, by the signal of its end or by what it leaves open. Orphans become
        children of the first process. While it is stopped nobody reaps them.

        Args:
            patience: seconds to wait until it has stopped.
        """
        until, pause = time.monotonic() + patience, _LOOK_AGAIN
        try:
            # A thread stops on its way out of the kernel, and may have forked before.
            while not _are_stopped(threads := _threads(self._process)):
                # Whoever is alive may continue it as often as it stops.
                if time.monotonic() > until or "alive" in map(_fate, _children(self._process)):
                    return False
                time.sleep(pause)
                pause = min(2 * pause, _LOOK_SELDOM)
            children = _children(self._process)
            # A list that changes while it is read may lack some. And whoever is in it and alive
            # could have continued the first process since: then its threads have run.
            return (
                not self._has_timers()
                and all(_fate(pid) == "ended" for pid in children)
                and children == _children(self._process)
                and threads == _threads(self._process)
            )
        except (OSError, IndexError):
            return False

    def leave_stopped(self, uid: int | None) -> bool:
        """Stop the first process and kill all others; wait until they have ended.

        The first one is killed too if it has timers, if others keep appearing, if they take too
        long to end, or if they could not be killed.

        Returns:
            Whether the first process had to be killed.

        Raises:
            SandboxError: processes are left that do not end.
        """
        until = time.monotonic() + _PATIENCE
        self.signal_first(signal.SIGSTOP)
        if self.is_at_rest():
            return False
        for patience in _STOPS[1:]:
            if has_ended(self._first):
                return False
            if self._has_timers() or not self.kill_others(uid):
                break
            self._wait_for_ends(until)
            # One of them may have continued it meanwhile.
            self.signal_first(signal.SIGSTOP)
            if self.is_at_rest(patience):
                return False
        self.end()
        return True

    def end(self) -> None:
        """Kill all processes and wait until they have ended.

        Raises:
            SandboxError: some do not end.
        """
        end_space(self._first)

    def _wait_for_ends(self, until: float) -> None:
        """Wait while there are processes that have been killed and none that have not."""
        with suppress(OSError, IndexError):
            while {"ending"} == {*map(_fate, _children(self._process))} - {"ended"}:
                if time.monotonic() > until:
                    return
                time.sleep(0.001)

    def _has_timers(self) -> bool:
        with suppress(OSError):
            return bool((self._process / "timers").read_bytes())
        return False

    def kill_others(self, uid: int | None) -> bool:
        """Kill everything in the namespace but its first process, by one kill(-1) from inside.

        Args:
            uid: the user to do it as, where this process is root; ``None``: this user.

        Returns:
            Whether the signals were sent; the processes may still be about to end. They are not
            sent if a process of the sandbox kills or stops the one that sends them.
        """
        if uid == 0 or (uid is None and os.geteuid() == 0):
            raise ValueError("Processes of a sandbox are not killed as root.")
        pid, user = self._opened["pid"], self._opened["user"]
        enter, script = [f"--pid=/proc/self/fd/{pid}"], _KILL_OTHERS_OF_USER
        if uid is None:
            enter += [f"--user=/proc/self/fd/{user}", "--preserve-credentials"]
            script = _KILL_OTHERS
        else:
            enter += [f"--setuid={uid}", f"--setgid={uid}"]
        try:
            with subprocess.Popen(  # noqa: S603 - our own arguments
                [*_NSENTER, *enter, "--", "/bin/bash", "-c", script],
                pass_fds=(pid, user),
                env={"PATH": "/usr/bin:/bin"},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                process_group=0,
            ) as sender:
                try:
                    return sender.wait(_PATIENCE) == _SENT
                finally:
                    if sender.returncode is None:
                        # With its child in the namespace: it would kill the next command.
                        os.killpg(sender.pid, signal.SIGKILL)
        except (OSError, subprocess.SubprocessError):
            return False

    def close(self) -> None:
        """Let go of the namespace."""
        for descriptor in (self._first, *self._opened.values()):
            if descriptor >= 0:
                os.close(descriptor)
        self._first = -1
        self._opened = {}


def end_space(first: int) -> None:
    """Kill a namespace by its first process, and wait until all its processes have ended.

    Args:
        first: a descriptor of that process; negative: it ended before.

    Raises:
        SandboxError: some do not end.
    """
    if first >= 0:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(first, signal.SIGKILL)
    # The kernel lets the first process end after all others.
    if not has_ended(first, _ENDING):
        raise SandboxError(
            f"Processes of a sandbox were killed, and have not ended within {_ENDING:g} s. "
            "Close the sandbox and open another one."
        )


def has_ended(first: int, patience: float = 0.0) -> bool:
    """Return whether a process has ended, and with the first of a namespace all others in it.

    Args:
        first: a descriptor of it; negative: it ended before.
        patience: seconds to wait for that.
    """
    if first < 0:
        return True
    poller = select.poll()
    poller.register(first, select.POLLIN)
    return bool(poller.poll(patience * 1000))


def _threads(process: Path) -> list[tuple[str, list[str]]]:
    """Return state and numbers of context switches of a process's threads."""
    threads = (process / "task").iterdir()
    return [(t.name, _RUNS.findall((t / "status").read_text("utf-8", "replace"))) for t in threads]


def _are_stopped(threads: list[tuple[str, list[str]]]) -> bool:
    return all(found[0] == "T" for _, found in threads)


def _children(process: Path) -> list[str]:
    # A process is listed as the child of the thread that started it.
    threads = (process / "task").iterdir()
    return [pid for thread in threads for pid in (thread / "children").read_text("ascii").split()]


def _fate(pid: str) -> str:
    """Return whether a process is ``"alive"``, ``"ending"`` since it was killed, or ``"ended"``."""
    try:
        fields = _fields(Path("/proc", pid))
        # Of a process with other threads, the first may have ended before.
        if fields[0] in "ZX" and int(fields[17]) <= 1:
            return "ended"
        if int(fields[6]) & _PF_EXITING:
            return "ending"
        status = Path(f"/proc/{pid}/status").read_text("utf-8", "replace")
    except (FileNotFoundError, ProcessLookupError):
        return "ended"
    killed = int(status.partition("SigPnd:")[2].split()[0], 16) & _SIGKILL_BIT
    return "ending" if killed else "alive"


def _fields(process: Path) -> list[str]:
    """Return what follows the name in a process's ``stat``: state, parent, and so on."""
    return (process / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()


def only_child(pid: int | None) -> int | None:
    """Return the only child of a process that has one; ``None`` if it has none or several."""
    if pid is None:
        return None
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with suppress(OSError):
                if int(_fields(Path(entry.path))[1]) == pid:
                    found.append(int(entry.name))
    return found[0] if len(found) == 1 else None
