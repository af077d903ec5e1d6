"""Looks for what boxes leave behind: many at once, and those of owners that are killed.

``python -m tests.sandbox.leaks`` does at length what the tests do in short.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ludus.sandbox import Policy, open_sandbox, sweep
from ludus.sandbox.leases import state_folder
from ludus.sandbox.linux import uids
from ludus.sandbox.linux.cgroup import _layout

__all__ = ["box_processes", "check_killed_owners", "check_many_boxes", "leftovers", "vanish"]


def box_processes() -> dict[int, int]:
    """Return the processes of boxes, each with its user."""
    users = uids.pool()
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            # By the real user: /proc/PID belongs to root where a process may not be looked into.
            status = (entry / "status").read_text() if entry.name.isdigit() else ""
        except OSError:
            continue
        real = [int(line.split()[1]) for line in status.splitlines() if line.startswith("Uid:")]
        if real and real[0] in users and "\nState:\tZ" not in status:
            found[int(entry.name)] = real[0]
    return found


def leftovers(label: str) -> dict[str, object]:
    """Return everything that boxes of a label hold while they live, outside of their processes."""
    parents = set(_layout().parents.values())
    boxes = state_folder() / "boxes"
    users = state_folder() / "uids"
    return {
        "groups": sorted(str(p) for parent in parents for p in parent.glob(f"ludus-{label}*")),
        # Container engines of other tests mount and unmount meanwhile.
        "mounts": [
            line
            for line in Path("/proc/self/mountinfo").read_text().splitlines()
            if label in line or str(state_folder()) in line
        ],
        "boxes": sorted(p.name for p in boxes.iterdir()) if boxes.exists() else [],
        "users": sorted(p.name for p in users.iterdir()) if users.exists() else [],
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "threads": threading.active_count(),
    }


def vanish(pids: set[int], patience: float = 10.0) -> set[int]:
    """Wait until processes are gone, and return those that stay."""
    until = time.monotonic() + patience
    while (left := pids & set(box_processes())) and time.monotonic() < until:
        time.sleep(0.01)
    return left


def left_running(users: set[int], patience: float = 10.0) -> list[int]:
    """Return the processes that stay of users of boxes; other tests have boxes of their own."""
    until = time.monotonic() + patience
    while left := [pid for pid, user in box_processes().items() if user in users]:
        if time.monotonic() > until:
            break
        time.sleep(0.01)
    return left


def users_taken() -> set[int]:
    """Return the users that boxes have leased in the state folder of this test."""
    folder = state_folder() / "uids"
    return {int(path.name) for path in folder.iterdir()} if folder.exists() else set()


def check_many_boxes(count: int, label: str) -> None:
    """Open boxes at the same time, use them while all are open, and close them."""
    open_sandbox(label=label).close()
    gc.collect()
    before = leftovers(label)
    everybody = threading.Barrier(count)
    users = set()

    def use(number: int) -> bytes:
        policy = Policy(memory="64M", pids=16)
        with open_sandbox(policy, label=label) as box, box.shell() as shell:
            everybody.wait(120)
            shell.run("(setsid sleep 50 &); x=1; sleep 50 & echo")
            box.write_bytes("f", str(number).encode())
            answer = box.run(["cat", "f"]).stdout
            users.update(users_taken())
            everybody.wait(120)
            return answer

    with ThreadPoolExecutor(count) as pool:
        answers = list(pool.map(use, range(count)))
    assert answers == [str(number).encode() for number in range(count)]
    gc.collect()
    assert len(users) >= count
    assert not left_running(users)
    assert leftovers(label) == before


_OWNER = """
import sys
from ludus.sandbox import Policy, open_sandbox
print("begun", flush=True)
while True:
    with open_sandbox(Policy(memory="64M"), label=sys.argv[1]) as box:
        with box.shell() as shell:
            shell.run("(setsid sleep 300 &); sleep 300 & echo", keep_background=True)
            box.spawn(["sh", "-c", "(setsid sleep 300 &); sleep 300"])
            kept = box.snapshot()
            box.write_bytes("f", b"1" * 100_000)
            box.restore(kept)
"""


def check_killed_owners(times: int, label: str, *, seed: int) -> None:
    """Kill owners of boxes, each at some moment of their work."""
    moments = random.Random(seed)
    sweep()
    before = leftovers(label)
    for number in range(times):
        owner = subprocess.Popen([sys.executable, "-c", _OWNER, label], stdout=subprocess.PIPE)
        assert owner.stdout is not None
        with owner.stdout:
            owner.stdout.readline()
            time.sleep(moments.uniform(0.0, 0.4))
            owner.kill()
            owner.wait()
        # Bubblewrap itself, killed while it sets a command up, may leave a child that waits for
        # ever to begin: it takes the sweep that a next box begins with.
        users = users_taken()
        sweep()
        assert not left_running(users), f"processes after kill {number}"
        now = leftovers(label)
        differ = {name: (before[name], now[name]) for name in now if now[name] != before[name]}
        assert not differ, f"kill {number}: {differ}"


def main() -> None:
    """Run both as often as asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boxes", type=int, default=100, help="boxes at the same time")
    parser.add_argument("--rounds", type=int, default=10, help="how often they are opened")
    parser.add_argument("--kills", type=int, default=50, help="owners to be killed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ludus-leaks-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        os.environ["LUDUS_STATE"] = f"{folder}/state"
        begun = time.monotonic()
        for number in range(options.rounds):
            check_many_boxes(options.boxes, "leaks")
            print(f"{options.boxes} boxes, round {number + 1}: nothing left", flush=True)
        check_killed_owners(options.kills, "leaks", seed=time.monotonic_ns())
        print(f"{options.kills} owners killed: nothing left")
        print(f"{time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
