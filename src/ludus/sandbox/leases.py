"""Leases: one folder per sandbox that records its owner and resources.

What a sandbox holds beyond its processes (a control group, a user, a container) is recorded before
it is taken. ``sweep`` releases what belongs to owners that no longer run.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ludus.atomic import write_whole
from ludus.errors import SandboxError

__all__ = [
    "Lease",
    "Record",
    "SweepBusy",
    "dead_records",
    "process_start",
    "state_folder",
    "sweep_lock",
]

Record = Mapping[str, Any]
_RECORD, _LOCK = "lease.json", "lock"
# Seconds: to wait for another sweep, and until something half made counts as left behind.
_PATIENCE, _OLD = 20.0, 60.0


def state_folder() -> Path:
    """Return the folder of the leases, creating it if necessary.

    ``$LUDUS_STATE``, else ``/run/ludus`` for root, else ``$XDG_RUNTIME_DIR/ludus``, else a private
    folder among the temporary files.

    Raises:
        SandboxError: other users can change it.
    """
    user = os.geteuid()
    if given := os.environ.get("LUDUS_STATE"):
        path = Path(given)
    elif user == 0:
        path = Path("/run/ludus")
    elif runtime := os.environ.get("XDG_RUNTIME_DIR"):
        path = Path(runtime) / "ludus"
    else:
        path = Path(f"/tmp/ludus-{user}")  # noqa: S108 - its owner and mode are checked below
    try:
        # Others may pass through, since a sandbox's user must reach its stage, but not list it.
        path.mkdir(mode=0o711, parents=True, exist_ok=True)
        found = path.lstat()
    except OSError as error:
        raise SandboxError(
            f"The state folder {str(path)!r} cannot be made: {error.strerror}. "
            "Point LUDUS_STATE to a folder of yours."
        ) from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != user or found.st_mode & 0o022:
        raise SandboxError(
            f"The state folder {str(path)!r} must be a folder that only user {user} can write to. "
            "Point LUDUS_STATE to one that is."
        )
    return path


left: list[str] = []
"""Sandboxes whose resources this process could not release completely."""


class Lease:
    """The folder of one sandbox; ``folder / "stage"`` is free for the backend's use."""

    def __init__(self, name: str, folder: Path, record: dict[str, Any]) -> None:
        self.name, self.folder, self._record = name, folder, record
        # The lock is free once the owner is gone, whichever process namespace it lived in.
        flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC
        self._lock = os.open(folder / _LOCK, flags, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    @classmethod
    def take(cls, backend: str, *, label: str | None, deadline: float | None) -> Lease:
        """Create the lease of a new sandbox owned by this process.

        Args:
            backend: whose ``reclaim`` releases its resources.
            label: part of the name.
            deadline: seconds the sandbox may live.

        Raises:
            SandboxError: the state folder cannot be used.
        """
        clean = re.sub(r"[^a-z0-9]+", "-", (label or "").lower()).strip("-")[:24]
        name = f"{clean or 'sandbox'}-{secrets.token_hex(5)}"
        making, sandboxes = state_folder() / "making", state_folder() / "boxes"
        for parent in (making, sandboxes):
            parent.mkdir(mode=0o711, exist_ok=True)
        pid = os.getpid()
        record = {
            "name": name,
            "backend": backend,
            "pid": pid,
            "start": process_start(pid),
            "space": _pid_space(),
            "deadline": None if deadline is None else time.time() + deadline,
        }
        # Made elsewhere and moved: others see all of it or nothing, without a lock that a stopped
        # process could hold.
        (making / name).mkdir(mode=0o711)
        lease = cls(name, making / name, record)
        lease.note()
        lease.folder = lease.folder.rename(sandboxes / name)
        return lease

    def note(self, **resources: Any) -> None:
        """Write down resources, before they are taken."""
        self._record.update(resources)
        write_whole(self.folder / _RECORD, json.dumps(self._record).encode(), durable=False)

    def release(self) -> None:
        """Remove the folder; everything recorded must have been released."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._unlock()

    def leave(self) -> None:
        """Leave what was noted to the next sweep, as if the owner were dead."""
        self.note(left=True)
        self._unlock()
        left.append(self.name)

    def _unlock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def process_start(pid: int) -> str | None:
    """Return when a process started, in ticks since boot; ``None`` if there is none.

    Tells it from a later process with the same pid.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, *rest = text.rpartition(")")[2].split()
    return None if state in "ZX" else rest[18]


def dead_records() -> Iterator[tuple[Path, Record]]:
    """Yield the folders and records of sandboxes whose owners no longer run."""
    sandboxes = state_folder() / "boxes"
    for folder in sorted(sandboxes.glob("*")):
        record = _read(folder)
        # One without a record is being removed, or was left by a version that made them in place.
        if not record or _is_dead(folder, record):
            yield folder, record


def _read(folder: Path) -> Record:
    try:
        return dict(json.loads((folder / _RECORD).read_text()))
    except (OSError, ValueError, TypeError):
        return {}


def _is_dead(folder: Path, record: Record) -> bool:
    if record.get("left"):
        return True
    # A child that the owner forked may hold the lock beyond the owner's death; the owner's own
    # pid tells then, where it means the same to us.
    if record["space"] == _pid_space() and process_start(record["pid"]) != record["start"]:
        return True
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return _try_lock(lock)
    finally:
        os.close(lock)


def _pid_space() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino


class SweepBusy(SandboxError):
    """Another process sweeps, and has not come to an end in time."""


@contextmanager
def sweep_lock(patience: float) -> Iterator[None]:
    """Prevent two sweeps at a time.

    Raises:
        SweepBusy: another one has not ended after ``patience`` seconds.
    """
    file = state_folder() / "sweep.lock"
    descriptor = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + patience
    try:
        while not _try_lock(descriptor):
            if time.monotonic() >= deadline:
                raise SweepBusy(
                    f"Cannot sweep: another process sweeps and holds {str(file)!r} for more than "
                    f"{patience:g} s. If it is stopped, continue or kill it (`fuser -v {file}` "
                    "names it), then sweep again."
                )
            time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sweep_half_made() -> None:
    """Remove the folders of owners that were killed while they made them."""
    for folder in (state_folder() / "making").glob("*"):
        with suppress(FileNotFoundError):
            if time.time() - folder.stat().st_mtime > _OLD:
                shutil.rmtree(folder, ignore_errors=True)


def sweep_with(reclaim: Callable[[Record], None], *, wait: bool = True) -> list[str]:
    """Release what dead owners left and return the names of their sandboxes.

    What cannot be released now, because its engine does not answer, is left for the next sweep.

    Args:
        reclaim: releases what a record names.
        wait: whether to wait for another sweep to end.

    Raises:
        SweepBusy: another process is sweeping and does not finish.
    """
    swept = []
    with sweep_lock(_PATIENCE if wait else 0.0):
        _sweep_half_made()
        for folder, record in dead_records():
            try:
                reclaim(record)
            except (OSError, SandboxError):
                continue
            shutil.rmtree(folder, ignore_errors=True)
            swept.append(folder.name)
    return swept
