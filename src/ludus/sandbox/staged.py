"""What boxes have in common whose places, mounts and network are set up by a stage."""

from __future__ import annotations

import os
from pathlib import Path

from ludus.errors import SandboxClosed
from ludus.sandbox import cgroup, uids
from ludus.sandbox.contract import Sandbox
from ludus.sandbox.job import LocalJob
from ludus.sandbox.leases import Record
from ludus.sandbox.locks import LockLimit
from ludus.sandbox.results import Usage
from ludus.sandbox.stage import RootStage, Stage

__all__ = ["StagedBox", "reclaim"]


class StagedBox(Sandbox):
    """A box with a stage and control groups of its own. A backend sets both in ``_open``."""

    _group: cgroup.Group | None = None
    _stage: Stage | None = None
    _locks: LockLimit | None = None
    _leased: int | None = None
    _spent = 0.0

    def _root(self, place: str) -> int:
        if self._stage is None:
            raise SandboxClosed(f"Box {self.name} is not open.")
        return self._stage.roots[place]

    def _owner(self) -> int | None:
        return self._stage.uid if isinstance(self._stage, RootStage) else None

    def _usage(self, wall_seconds: float) -> Usage:
        if self._group is None or self._stage is None or not self._stage.roots:
            return Usage(wall_seconds=wall_seconds)
        now, peak = self._group.memory()
        disk = os.fstatvfs(self._root("/workspace"))
        return Usage(
            cpu_seconds=self._spent,
            memory_now=now,
            memory_peak=peak,
            pids_now=self._group.pids(),
            disk_used=(disk.f_blocks - disk.f_bfree) * disk.f_frsize,
            wall_seconds=wall_seconds,
        )

    def _oom_kills(self) -> int:
        killed = 0 if self._locks is None else self._locks.kills
        return killed if self._group is None else killed + self._group.oom_kills()

    def _forget_cache(self) -> None:
        if self._group is not None:
            self._group.forgets_cache = True

    def _close(self) -> None:
        if self._locks is not None:
            self._locks.close()
        if self._stage is not None:
            self._stage.close()
        if self._group is not None:
            self._group.close()
        if self._leased is not None:
            if self._group is None or not self._group.folders:
                uids.kill_user(self._leased)
            uids.release_uid(self._leased)

    def _ended(self, job: LocalJob) -> None:
        self._spent += job.cpu_seconds


def reclaim(record: Record) -> None:
    """Give back what the box of a dead owner held; its processes died with the owner."""
    uid = record.get("uid")
    if uid is not None and os.geteuid() == 0:
        uids.kill_user(uid)
    for folder in record.get("groups", ()):
        cgroup.kill_group(Path(folder))
    if uid is not None:
        uids.release_uid(uid)
