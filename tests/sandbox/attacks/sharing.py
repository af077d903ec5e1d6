"""What the kernel shares between all who ask: IPC objects, and limits that it keeps per user."""

from __future__ import annotations

import ctypes
import os
import time
from functools import partial
from pathlib import Path

from tests.sandbox.attacks.attack import Attack, Outcome, Scene, broke, held, run_script
from tests.sandbox.attacks.host import carriers, is_sleep, libc, meanwhile

__all__ = ["ATTACKS"]


def _ipc(scene: Scene, create: str, listing: str) -> Outcome:
    key = int(scene.token[:7], 16)
    scene.params["key"] = key
    completed = scene.python(create)
    scene.box.close()
    left = [line.split() for line in Path(listing).read_text().splitlines()[1:]]
    mine = [entry for entry in left if int(entry[0]) == key]
    number = {"shm": 31, "sem": 66, "msg": 71}[Path(listing).name]
    for entry in mine:
        libc().syscall(number, int(entry[1]), 0, 0, 0)
    if mine:
        return broke(f"left behind on the host: {mine[0][:2]}")
    return held(completed.stdout.decode().strip()[-60:] or "nothing left")


def _remove_ipc(number: int, scene: Scene) -> None:
    libc().syscall(number, scene.kept["id"], 0, None)


def _host_shared_memory(scene: Scene) -> None:
    """A segment of the host that everybody on the host may attach."""
    key = int(scene.token[:7], 16)
    scene.params["key"] = key
    library = libc()
    library.shmat.restype = ctypes.c_void_p
    identifier = library.shmget(key, 4096, 0o1000 | 0o666)
    scene.kept["id"] = identifier
    scene.stack.callback(_remove_ipc, 31, scene)
    address = library.shmat(identifier, None, 0)
    ctypes.memmove(address, scene.canary.encode(), len(scene.canary))
    library.shmdt(ctypes.c_void_p(address))


def _host_queue(scene: Scene) -> None:
    name = f"/ludus-{scene.token}".encode()
    library = libc()
    before = os.umask(0)
    handle = library.mq_open(name, os.O_RDWR | os.O_CREAT, 0o666, None)
    os.umask(before)
    if handle < 0:
        raise OSError(ctypes.get_errno(), "mq_open")
    scene.stack.callback(library.mq_unlink, name)
    scene.stack.callback(os.close, handle)


def _left_in_shared_memory(scene: Scene, attack: Attack) -> Outcome:
    outcome = run_script(scene, attack)
    scene.box.close()
    path = Path("/dev/shm") / f"left-{scene.token}"
    if path.exists():
        path.unlink()
        return broke("a file left in the host's /dev/shm")
    return held(outcome.text)


SHARED = (
    Attack(
        name="leave_shared_memory",
        threat="the host's memory, held by a segment that outlives every process",
        act=lambda scene, attack: _ipc(
            scene, "held(check(libc.shmget(P['key'], 4096, 0o1600)))", "/proc/sysvipc/shm"
        ),
    ),
    Attack(
        name="leave_semaphores",
        threat="the host's table of semaphores",
        act=lambda scene, attack: _ipc(
            scene, "held(check(libc.semget(P['key'], 1, 0o1600)))", "/proc/sysvipc/sem"
        ),
    ),
    Attack(
        name="leave_message_queue",
        threat="the host's table of message queues",
        act=lambda scene, attack: _ipc(
            scene, "held(check(libc.msgget(P['key'], 0o1600)))", "/proc/sysvipc/msg"
        ),
    ),
    Attack(
        name="leave_posix_shared_memory",
        threat="the host's /dev/shm",
        act=_left_in_shared_memory,
        script="open(f\"/dev/shm/left-{P['token']}\", 'w').write('x'); held('written in the box')",
    ),
    Attack(
        name="attach_host_shared_memory",
        threat="the shared memory of the host's programs",
        prepare=_host_shared_memory,
        script="""
libc.shmat.restype = ctypes.c_void_p
segment = check(libc.shmget(P["key"], 4096, 0o666))
broke(ctypes.string_at(libc.shmat(segment, None, 0), 40).decode(errors="replace"))
""",
    ),
    Attack(
        name="open_host_message_queue",
        threat="the message queues of the host's programs",
        prepare=_host_queue,
        script="""
check(libc.mq_open(f"/ludus-{P['token']}".encode(), os.O_RDWR))
broke("opened the host's queue")
""",
    ),
)


def _starve_watchers(scene: Scene, attack: Attack) -> Outcome:
    """While the box holds every watcher it can get, the host and a second box still get one."""
    argv = scene.python_argv("check(libc.inotify_init1(0)); held('got one')", {"boxed": True})
    with meanwhile(lambda: scene.python(attack.script, timeout=3)):
        time.sleep(0.5)
        mine = libc().inotify_init1(0)
        second = scene.open_box().run(argv, timeout=5)
    if mine < 0:
        return broke("the host gets no inotify instance any more")
    os.close(mine)
    if b"got one" not in second.stdout:
        return broke("another box gets no inotify instance any more")
    return held("the others still get theirs")


def _share_user(scene: Scene, attack: Attack) -> Outcome:
    """Find the users of two boxes as the host knows them."""
    users: list[set[int]] = []
    for box in (scene.box, scene.open_box()):
        marker = f"0.8{int(scene.token, 16) % 10**8}{len(users)}"
        found: set[int] = set()
        with meanwhile(partial(box.run, ["sleep", marker], timeout=4)):
            until = time.monotonic() + 2
            while not found and time.monotonic() < until:
                found = {_user(pid) for pid in carriers(marker) if is_sleep(pid)}
        users.append(found)
    if not all(users):
        return Outcome("INVALID", f"no process of a box was found: {users}")
    if users[0] & users[1]:
        return broke(f"two boxes share user {users[0] & users[1]}")
    if {0, os.getuid()} & (users[0] | users[1]):
        return broke(f"a box runs as a user of the host: {users}")
    return held(f"users {users}")


def _user(pid: int) -> int:
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return -1


USERS = (
    Attack(
        name="starve_watchers",
        threat="file watching for every program of the same user",
        act=_starve_watchers,
        script="""
kept = []
try:
    for _ in range(1000):
        kept.append(check(libc.inotify_init1(0)))
except OSError:
    pass
time.sleep(1.5)
held(len(kept))
""",
        cannot_succeed_unboxed="it would starve every program of this user",
        promised_to_root=True,
    ),
    Attack(
        name="share_user_with_others",
        threat="limits and files that the kernel keeps per user",
        act=_share_user,
        needs_root=True,
        own_kernel="gVisor's kernels run as nobody, without rights, and keep limits per user",
        promised_to_root=True,
    ),
)

ATTACKS = (*SHARED, *USERS)
