"""Sandboxes for untrusted code: enforced limits, a persistent shell, safe file transfer.

::

    with open_sandbox(Policy(memory="256M", pids=64)) as sandbox:
        sandbox.put("solution.py", "/workspace/solution.py")
        done = sandbox.run(["python3", "solution.py"], timeout=30).check()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_attributes
from ludus.sandbox.contract import Sandbox
from ludus.sandbox.egress.limits import EgressLimits
from ludus.sandbox.opening import backends, doctor, open_sandbox, sweep
from ludus.sandbox.policy import Mount, Policy
from ludus.sandbox.process_handle import SandboxProcess
from ludus.sandbox.results import Completed, Enforcement, Usage
from ludus.sandbox.shell import Shell
from ludus.sandbox.transfer.limits import SnapshotLimits
from ludus.sandbox.transfer.snapshot import Snapshot

if TYPE_CHECKING:
    from ludus.registration.make_sandboxed import load

__all__ = [
    "Completed",
    "EgressLimits",
    "Enforcement",
    "Job",
    "Mount",
    "Policy",
    "Sandbox",
    "SandboxProcess",
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

Job = SandboxProcess  # the old name

# Registration imports the sandbox; this one name goes the other way, so it loads on first use.
__getattr__ = lazy_attributes(__name__, {"load": "ludus.registration.make_sandboxed"})
