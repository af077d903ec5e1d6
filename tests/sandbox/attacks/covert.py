"""Talk between sandboxes, or with the host, through files that all of them are shown read-only.

The host plays the other sandbox: a lock or a watch that reaches it reaches every other one, too.
"""

from __future__ import annotations

import fcntl
import os
import struct
import time
from collections.abc import Callable
from pathlib import Path

from tests.sandbox.attacks.attack import Attack, Outcome, Scene, run_script
from tests.sandbox.attacks.host import meanwhile

__all__ = ["ATTACKS"]

PROGRAM, DEVICE = "/usr/bin/env", "/dev/null"
_LOCK = struct.Struct("hhqqi4x")
_OFD_SETLK = 37


def _open(scene: Scene, path: str) -> int:
    descriptor = os.open(path, os.O_RDONLY)
    scene.stack.callback(os.close, descriptor)
    scene.params["path"] = path
    return descriptor


def _locked(path: str) -> Callable[[Scene], None]:
    return lambda scene: fcntl.flock(_open(scene, path), fcntl.LOCK_EX)


def _marked(command: int) -> Callable[[Scene], None]:
    """A lock for reading, which is all that a file that cannot be written takes."""
    lock = _LOCK.pack(fcntl.F_RDLCK, 0, 0, 1, 0)

    def prepare(scene: Scene) -> None:
        fcntl.fcntl(_open(scene, PROGRAM), command, lock)

    return prepare


def _locked_in_a_mount(scene: Scene) -> None:
    folder = scene.public_folder()
    (folder / "file").write_text("x")
    _locked(str(folder / "file"))(scene)
    scene.params["path"] = f"{scene.share(folder)}/file"


def _shared_folder(scene: Scene) -> None:
    folder = scene.public_folder()
    scene.params["needle"] = folder.name
    scene.share(folder)


def _touched(scene: Scene, attack: Attack) -> Outcome:
    """Open the file on the host again and again while the script listens."""

    def touch() -> None:
        for _ in range(40):
            Path(PROGRAM).read_bytes()
            list(Path("/usr/bin").iterdir())
            time.sleep(0.02)

    scene.params["path"] = PROGRAM
    with meanwhile(touch):
        return run_script(scene, attack)


def _opened(scene: Scene, attack: Attack) -> Outcome:
    """Open many files on the host, and close them, while the script listens."""

    def open_many() -> None:
        for _ in range(8):
            descriptors = [os.open("/dev/null", os.O_RDONLY) for _ in range(600)]
            time.sleep(0.05)
            for descriptor in descriptors:
                os.close(descriptor)
            time.sleep(0.05)

    with meanwhile(open_many):
        return run_script(scene, attack)


FLOCK = """
import fcntl
file = open(P["path"], "rb")
try:
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    broke("felt a lock that somebody outside holds")
held("locked a file of its own")
"""
ASK = """
import fcntl
file = open(P["path"], "rb")
wanted = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0)
found = struct.unpack("hhqqi4x", fcntl.fcntl(file, COMMAND, wanted))
broke("saw a lock that somebody outside holds") if found[0] != fcntl.F_UNLCK else held("no lock")
"""
WATCH = """
import select
watcher = check(libc.inotify_init())
check(libc.inotify_add_watch(watcher, P["path"].encode(), 0x21))
if select.select([watcher], [], [], 0.6)[0]:
    broke("saw somebody outside open a file")
held("saw nothing")
"""
CACHED = """
file = os.open("/usr/bin/env", os.O_RDONLY)
try:
    os.preadv(file, [bytearray(64)], 0, os.RWF_NOWAIT)
except BlockingIOError:
    broke("nobody has read that page yet")
broke("somebody has read that page")
"""
NOTIFY = """
import fcntl
seen = []
signal.signal(signal.SIGIO, lambda *_: seen.append(1))
folder = os.open("/usr/bin", os.O_RDONLY)
fcntl.fcntl(folder, fcntl.F_NOTIFY, 0x80000001)
time.sleep(0.6)
broke("saw somebody outside read a folder") if seen else held("saw nothing")
"""
LEASE = """
import fcntl
file = open(P["path"], "rb")
demote()
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
broke("has a lease on a file of the host")
"""
MOUNTS = """
for name in ("mountinfo", "mounts", "mountstats"):
    text = open(f"/proc/self/{name}").read()
    if P["needle"] in text:
        broke(f"{name} names a folder of the host")
held("no names")
"""
COUNTS = """
counts = []
for _ in range(80):
    counts.append(int(open("/proc/sys/fs/file-nr").read().split()[0]))
    time.sleep(0.01)
if max(counts) - min(counts) > 400:
    broke(f"saw somebody outside open {max(counts) - min(counts)} files")
held("saw nothing")
"""
NO_MOUNTS = "without a sandbox nothing is mounted for it"

ATTACKS = (
    *(
        Attack(name=f"feel_lock_of_{name}", threat="a channel between sandboxes", **options)
        for name, options in {
            "a_program": {"prepare": _locked(PROGRAM), "script": FLOCK},
            "a_device": {
                "prepare": _locked(DEVICE),
                "script": FLOCK,
                # Without root nobody can make devices of a sandbox's own.
                "promised_to_root": True,
            },
            "a_mounted_file": {"prepare": _locked_in_a_mount, "script": FLOCK},
        }.items()
    ),
    Attack(
        name="see_record_lock",
        threat="a channel between sandboxes",
        prepare=_marked(fcntl.F_SETLK),
        script="COMMAND = 5\n" + ASK,
    ),
    Attack(
        name="see_open_file_lock",
        threat="a channel between sandboxes",
        prepare=_marked(_OFD_SETLK),
        script="COMMAND = 36\n" + ASK,
    ),
    Attack(
        name="watch_a_program",
        threat="what other sandboxes and the host run",
        act=_touched,
        script=WATCH,
    ),
    Attack(
        name="be_notified_of_a_folder",
        threat="what other sandboxes and the host look at",
        act=_touched,
        script=NOTIFY,
    ),
    Attack(
        name="lease_a_program",
        threat="a channel between sandboxes, and programs of the host that wait for it",
        prepare=lambda scene: scene.params.update(path=PROGRAM),
        script=LEASE,
        cannot_succeed_unboxed="a lease takes the owner of the file, or a capability",
    ),
    Attack(
        name="ask_which_pages_are_in_memory",
        threat="what other sandboxes have read, without reading it",
        script=CACHED,
    ),
    Attack(
        name="count_open_files_of_the_host",
        threat="a channel between sandboxes, of a hundred bits a second",
        act=_opened,
        script=COUNTS,
    ),
    Attack(
        name="read_host_paths_of_mounts",
        threat="where on the host things lie, and what its users and projects are called",
        prepare=_shared_folder,
        script=MOUNTS,
        cannot_succeed_unboxed=NO_MOUNTS,
    ),
)
