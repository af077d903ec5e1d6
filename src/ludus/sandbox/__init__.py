"""Boxes for code that is not trusted: limits that hold, a shell that persists, files that pass.

::

    with open_sandbox(Policy(memory="256M", pids=64)) as box:
        box.put("solution.py", "/workspace/solution.py")
        done = box.run(["python3", "solution.py"], timeout=30).check()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ludus.sandbox.contract import Sandbox
from ludus.sandbox.doctor import doctor
from ludus.sandbox.job import Job
from ludus.sandbox.limits import SnapshotLimits
from ludus.sandbox.opening import backends, open_sandbox, sweep
from ludus.sandbox.policy import Mount, Policy
from ludus.sandbox.results import Completed, Enforcement, Usage
from ludus.sandbox.shell import Shell
from ludus.sandbox.snapshot import Snapshot

if TYPE_CHECKING:
    from ludus.registration.build_boxed import load

__all__ = [
    "Completed",
    "Enforcement",
    "Job",
    "Mount",
    "Policy",
    "Sandbox",
    "Shell",
    "Snapshot",
    "SnapshotLimits",
    "Usage",
    "backends",
    "doctor",
    "load",
    "open_sandbox",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name != "load":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Loading environments is built on boxes; only this convenience looks the other way.
    from ludus.registration.build_boxed import load

    return load
