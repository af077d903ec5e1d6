"""Counts the processes and threads of a job, from ``/proc``.

Control groups of version 1 report them up to a second late.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ludus.sandbox.linux.entrance import EnteredJob
from ludus.sandbox.process_handle import LocalJob, SandboxProcess

__all__ = ["count_threads"]

_PROC = Path("/proc")
_MOST = 100_000


def count_threads(job: SandboxProcess, backend: str) -> int | None:
    """Return how many threads the processes of a job have; ``None`` where that is unknown.

    With gVisor, the host only sees the threads of gVisor's kernel.
    """
    first = None if backend == "gvisor" else _first(job)
    if first is None:
        return None
    count, open_ends = 0, [first]
    while open_ends and count < _MOST:
        # What ends meanwhile does not count.
        with suppress(OSError):
            for thread in (_PROC / str(open_ends.pop()) / "task").iterdir():
                count += 1
                with suppress(OSError):
                    open_ends += map(int, (thread / "children").read_text().split())
    return count


def _first(job: SandboxProcess) -> int | None:
    if isinstance(job, EnteredJob):
        with suppress(OSError):
            for line in (_PROC / "self" / "fdinfo" / str(job._first)).read_text().splitlines():
                if line.startswith("Pid:") and int(line[4:]) > 0:
                    return int(line[4:])
    elif isinstance(job, LocalJob):
        return job.child.pid
    return None
