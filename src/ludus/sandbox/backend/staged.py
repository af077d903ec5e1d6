"""Base class for backends that set up places, mounts and network on a stage."""

from __future__ import annotations

import os
from pathlib import Path

from ludus.errors import SandboxClosed
from ludus.sandbox.backend.stage import RootStage, Stage
from ludus.sandbox.contract import Sandbox
from ludus.sandbox.leases import Record
from ludus.sandbox.linux import cgroup, uids
from ludus.sandbox.linux.uncharged_memory import Bound, ConnectionLimit
from ludus.sandbox.process_handle import LocalJob
from ludus.sandbox.results import Usage

__all__ = ["StagedSandbox", "reclaim"]


class StagedSandbox(Sandbox):
    """A sandbox with a stage and control groups of its own. A backend sets both in ``_open``."""

    _group: cgroup.Group | None = None
    _stage: Stage | None = None
    _bounds: tuple[Bound, ...] = ()
    _leased: int | None = None
    _spent = 0.0

    def _root(self, place: str) -> int:
        if self._stage is None:
            raise SandboxClosed(f"Sandbox {self.name} is not open.")
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
        killed = sum(bound.kills for bound in self._bounds)
        return killed if self._group is None else killed + self._group.oom_kills()

    def _forget_cache(self) -> None:
        if self._group is not None:
            self._group.forgets_cache = True

    def _close(self) -> None:
        for bound in self._bounds:
            bound.close()
        if self._freezer is not None:
            self._freezer.close()
        if self._stage is not None:
            self._stage.close()
        if self._group is not None:
            self._group.close()
        if self._leased is not None:
            if self._group is None or not self._group.folders:
                uids.kill_user(self._leased)
            uids.release_uid(self._leased)

    def _bound_connections(self, stage: Stage, group: cgroup.Group) -> None:
        """Bound what connections of the sandbox's own network keep, where memory is limited."""
        if self.policy.memory is not None and self.policy.network == "loopback":
            most = self.policy.memory // 8
            # That network is the thread's.
            limit = stage.worker.call(lambda: ConnectionLimit(group, "/proc/thread-self/net", most))
            self._bounds += (limit,)

    def _ended(self, job: LocalJob) -> None:
        self._spent += job.cpu_seconds


def reclaim(record: Record) -> None:
    """Release what the sandbox of a dead owner held; its processes died with the owner."""
    uid = record.get("uid")
    if uid is not None and os.geteuid() == 0:
        uids.kill_user(uid)
    for folder in record.get("groups", ()):
        cgroup.kill_group(Path(folder))
    if uid is not None:
        uids.release_uid(uid)
