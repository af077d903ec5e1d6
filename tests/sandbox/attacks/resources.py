"""Exhaustion: more memory, processes or processor than the policy grants.

The unboxed proofs stay small: twice a tiny limit, given back within a second.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

from tests.sandbox.attacks.attack import Attack, Outcome, Scene, broke, held, run_script
from tests.sandbox.attacks.host import carriers, end_carriers, is_sleep, meanwhile, members

__all__ = ["ATTACKS"]

MIB = 1 << 20
SMALL: dict[str, Any] = {"memory": 64 * MIB}


def _fork_over_commands(scene: Scene) -> Outcome:
    """Leave eight sleepers behind per command and count them all on the host."""
    number = f"20.{int(scene.token, 16) % 10**9}"
    script = f"for i in 1 2 3 4 5 6 7 8; do sleep {number} & done"
    scene.stack.callback(end_carriers, number)
    for _ in range(6):
        scene.box.run(["sh", "-c", f"{{ {script}; }} >/dev/null 2>&1 </dev/null"], timeout=3)
    if scene.own_kernel:
        alive = len(members(scene.box.name))
    else:
        alive = len([pid for pid in carriers(number) if is_sleep(pid)])
    return broke(f"{alive} sleepers") if alive > 32 else held(f"{alive} sleepers")


FORK_AND_COUNT = """
children = 0
try:
    while children < 40:
        if os.fork() == 0:
            time.sleep(4)
            os._exit(0)
        children += 1
except OSError:
    pass
open(f"/workspace/{children + 1}-{time.time_ns()}", "w").close()
time.sleep(3)
held(f"{children} children")
"""


def _fork_on_kernels(scene: Scene) -> Outcome:
    """Six commands at a time fork as often as they can, and each counts its own."""
    with ExitStack() as others:
        for _ in range(6):
            others.enter_context(meanwhile(lambda: scene.python(FORK_AND_COUNT)))
    with os.scandir(scene.box._root("/workspace")) as entries:
        counts = [int(entry.name.partition("-")[0]) for entry in entries]
    if not counts:
        return Outcome("INVALID", "nobody counted")
    return broke(f"{counts} processes") if sum(counts) > 32 else held(f"{counts} processes")


def _take_cpu(scene: Scene, attack: Attack) -> Outcome:
    """Believe a box about its processor time, except where its kernel keeps the clock."""
    if not scene.own_kernel:
        return run_script(scene, attack)
    with meanwhile(lambda: scene.python("while True: pass", timeout=1)):
        time.sleep(2)
        used, began = _cpu_seconds(scene.box.name), time.monotonic()
        time.sleep(2)
        share = (_cpu_seconds(scene.box.name) - used) / (time.monotonic() - began)
    if not used:
        return Outcome("INVALID", "it was never seen running")
    return (broke if share > 0.3 else held)(f"{share:.0%} of a processor where 10% were allowed")


def _cpu_seconds(name: str) -> float:
    """What the living processes of a box have used so far, by the host's clock."""
    ticks = 0
    for pid in members(name):
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _fork_in_parallel(scene: Scene) -> Outcome:
    """Six commands at a time with eight sleepers each; counted on the host while they sleep."""
    if scene.own_kernel:
        return _fork_on_kernels(scene)
    number = f"1.{int(scene.token, 16) % 10**9:09}"
    script = f"for i in 1 2 3 4 5 6 7 8; do sleep {number} & done; wait"
    scene.stack.callback(end_carriers, number)
    run = partial(scene.box.run, ["sh", "-c", script], timeout=4)
    most, until = 0, time.monotonic() + 1.0
    with ExitStack() as others:
        for _ in range(6):
            others.enter_context(meanwhile(run))
        while time.monotonic() < until:
            most = max(most, sum(is_sleep(pid) for pid in carriers(number)))
    return broke(f"{most} sleepers at a time") if most > 32 else held(f"{most} sleepers")


TAKE = """
taken = []
for count in range(1, 129):
    taken.append(bytearray(b"x") * (1 << 20))
broke(f"{count} MiB where 64 MiB were allowed")
"""

TREE = """
children, ready = [], os.pipe()
for _ in range(8):
    child = os.fork()
    if child == 0:
        block = bytearray(b"x") * (24 << 20)
        os.write(ready[1], b"y")
        time.sleep(4)
        os._exit(0)
    children.append(child)
os.close(ready[1])
os.set_blocking(ready[0], False)
got, until = 0, time.monotonic() + 3
while got < 8 and time.monotonic() < until:
    try:
        chunk = os.read(ready[0], 8)
        if not chunk:
            break
        got += len(chunk)
    except BlockingIOError:
        time.sleep(0.02)
    if os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        break
alive = sum(os.waitpid(child, os.WNOHANG)[0] == 0 for child in children)
for child in children:
    try:
        os.kill(child, signal.SIGKILL)
    except OSError:
        pass
if got == 8 and alive == 8:
    broke("8 processes held 24 MiB each where the tree may have 64 MiB")
held(f"{alive} of 8 processes lived")
"""

MEMORY = (
    Attack(
        name="take_memory",
        threat="the host's memory, by one process",
        policy=SMALL,
        script=TAKE,
        death_holds=True,
    ),
    Attack(
        name="take_memory_by_tree",
        threat="the host's memory, by many processes that each stay small",
        policy=SMALL,
        script=TREE,
        death_holds=True,
    ),
    Attack(
        name="take_memory_by_memfd",
        threat="the host's memory, as files without a name",
        policy=SMALL,
        script="""
file = os.memfd_create("fill")
for count in range(1, 129):
    os.write(file, bytes(1 << 20))
broke(f"{count} MiB in a memfd where 64 MiB were allowed")
""",
        death_holds=True,
    ),
    Attack(
        name="take_memory_by_shared_mapping",
        threat="the host's memory, as anonymous shared pages",
        policy=SMALL,
        script="""
import mmap
area = mmap.mmap(-1, 128 << 20)
for at in range(0, 128 << 20, 4096):
    area[at] = 1
broke("128 MiB of shared pages where 64 MiB were allowed")
""",
        death_holds=True,
    ),
    Attack(
        name="take_memory_by_pipes",
        threat="the kernel's memory, as full pipes and socket buffers",
        policy={"memory": 32 * MIB, "files": 1024},
        script="""
import fcntl
total = 0
for _ in range(96):
    try:
        reader, writer = os.pipe()
        fcntl.fcntl(writer, 1031, 1 << 20)
        os.set_blocking(writer, False)
        total += os.write(writer, bytes(1 << 20))
    except OSError as error:
        break
if total > 40 << 20:
    broke(f"{total >> 20} MiB in pipes where 32 MiB were allowed")
held(f"{total >> 20} MiB in pipes")
""",
        death_holds=True,
        needs_root=True,
    ),
    Attack(
        name="take_huge_pages",
        threat="the pool of huge pages, which memory limits do not count",
        cannot_succeed_unboxed="a host seldom has huge pages reserved",
        own_kernel="gVisor gives ordinary memory for it, which the host's control group counts",
        script="""
import mmap
area = mmap.mmap(-1, 2 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000)
area[0] = 1
broke("a huge page")
""",
        death_holds=True,
    ),
    Attack(
        name="pin_memory",
        threat="memory that the host can never swap or reclaim",
        policy=SMALL,
        script="""
import mmap
size = 96 << 20
area = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
check(libc.mlock(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(area))),
                 ctypes.c_size_t(size)))
broke("96 MiB locked")
""",
        death_holds=True,
        needs_root=True,
    ),
)

PROCESSES = (
    Attack(
        name="fork_bomb",
        threat="the host's process table",
        policy={"pids": 32},
        script="""
children = []
try:
    for _ in range(64):
        child = os.fork()
        if child == 0:
            time.sleep(4)
            os._exit(0)
        children.append(child)
except OSError as error:
    pass
for child in children:
    os.kill(child, signal.SIGKILL)
if len(children) >= 32:
    broke(f"{len(children)} children where 32 processes were allowed")
held(f"{len(children)} children")
""",
        death_holds=True,
    ),
    Attack(
        name="thread_bomb",
        threat="the same with threads, which limits on processes forget",
        policy={"pids": 32},
        script="""
import _thread
_thread.stack_size(64 << 10)
started = 0
try:
    for _ in range(64):
        _thread.start_new_thread(time.sleep, (4,))
        started += 1
except RuntimeError:
    pass
if started >= 32:
    broke(f"{started} threads where 32 were allowed")
held(f"{started} threads")
""",
        death_holds=True,
    ),
    Attack(
        name="fork_bomb_over_commands",
        threat="the process table, a few at a time over several commands",
        policy={"pids": 32},
        act=lambda scene, attack: _fork_over_commands(scene),
    ),
    Attack(
        name="fork_bomb_in_parallel",
        threat="the process table, by several commands at a time",
        policy={"pids": 32},
        act=lambda scene, attack: _fork_in_parallel(scene),
    ),
    Attack(
        name="take_cpu",
        threat="the host's processors",
        policy={"cpus": 0.1},
        act=lambda scene, attack: _take_cpu(scene, attack),
        script="""
start = time.monotonic()
while time.monotonic() - start < 1:
    pass
used = time.process_time()
elapsed = time.monotonic() - start
if used > 0.3 * elapsed:
    broke(f"{used / elapsed:.0%} of a processor where 10% were allowed")
held(f"{used / elapsed:.0%} of a processor")
""",
    ),
    Attack(
        name="raise_own_priority",
        threat="the processor time of the host's own processes",
        needs_root=True,
        own_kernel="a priority on gVisor's kernel is a number that the host never hears of",
        script="""
os.setpriority(os.PRIO_PROCESS, 0, -10)
broke(f"nice {os.getpriority(os.PRIO_PROCESS, 0)}")
""",
    ),
    Attack(
        name="become_realtime",
        threat="the processor itself: a real-time loop is never preempted",
        needs_root=True,
        script="""
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
broke("real-time scheduling")
""",
    ),
    Attack(
        name="take_realtime_disk_priority",
        threat="the disk",
        needs_root=True,
        script="""
call(251, 1, 0, 1 << 13)
broke("real-time disk priority")
""",
    ),
    Attack(
        name="take_descriptors",
        threat="the host's table of open files",
        policy={"files": 128},
        script="""
try:
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
except (OSError, ValueError):
    pass
opened = 0
try:
    for _ in range(512):
        os.dup(1)
        opened += 1
except OSError as error:
    pass
broke(f"{opened} where 128 were allowed") if opened > 128 else held(f"{opened} descriptors")
""",
    ),
)

ATTACKS = (*MEMORY, *PROCESSES)
