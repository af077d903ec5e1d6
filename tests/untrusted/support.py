"""What the tests of boxed environments share."""

from __future__ import annotations

import gc
import os
import threading
import time
from pathlib import Path

import pytest

from ludus.sandbox import Policy, load
from ludus.sandbox.linux import uids
from ludus.untrusted import SandboxOptions

HOSTILE = Path(__file__).parent / "hostile"


def options(**given) -> SandboxOptions:
    """Return options whose timeouts hold on a busy machine; tests of timeouts give shorter ones."""
    policy = Policy(memory="256M", pids=32)
    return SandboxOptions(
        **{"policy": policy, "step_timeout": 20.0, "start_timeout": 40.0, **given}
    )


def hostile(entry_point: str, **kwargs):
    given = kwargs.pop("sandbox", None) or options()
    return load(HOSTILE, entry_point, sandbox=given, **kwargs)


def box_processes() -> set[int]:
    """Return what runs below this process as a box's user; others may have boxes as well."""
    users, parents, boxed = uids.pool(), {}, set()
    for entry in Path("/proc").iterdir():
        try:
            status = (entry / "status").read_text() if entry.name.isdigit() else ""
        except OSError:
            continue
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        if not fields or fields["State"].startswith("Z"):
            continue
        parents[int(entry.name)] = int(fields["PPid"])
        if int(fields["Uid"].split()[0]) in users:
            boxed.add(int(entry.name))
    return {pid for pid in boxed if os.getpid() in _ancestors(pid, parents)}


def _ancestors(pid: int, parents: dict[int, int]) -> set[int]:
    found: set[int] = set()
    while (pid := parents.get(pid, 0)) and pid not in found:
        found.add(pid)
    return found


def held(state: Path) -> dict[str, object]:
    """Everything that boxes hold while they live."""
    gc.collect()
    names = {name for folder in ("boxes", "uids") for name in _names(state / folder)}
    # The launcher of the first box stays.
    return {
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "threads": threading.active_count(),
        "leases": names,
    }


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()] if folder.exists() else []


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch, warmed):
    """Compare what is held before and after each test."""
    state = Path(os.environ["LUDUS_STATE"])
    before, running = held(state), box_processes()
    yield
    until = time.monotonic() + 5
    while (left := box_processes() - running) and time.monotonic() < until:
        time.sleep(0.01)
    assert not left
    # Files that are open for a moment, such as of the thread that counts locks, are no leak.
    while (after := held(state)) != before and time.monotonic() < until:
        if after["descriptors"] < before["descriptors"]:
            before = {**before, "descriptors": after["descriptors"]}
        time.sleep(0.01)
    assert after == before
