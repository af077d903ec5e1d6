"""Disk: more bytes or files than the policy grants, in every place that can be written."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from tests.sandbox.attacks.attack import Attack, Scene

__all__ = ["ATTACKS"]

MIB = 1 << 20
INODES = 60_000


def _place(name: str, **params: int) -> Callable[[Scene], None]:
    """Where to write: a folder of the box, or outside a folder in the host's memory."""

    def prepare(scene: Scene) -> None:
        scene.params |= {"folder": name, **params}
        if not scene.boxed:
            folder = Path("/dev/shm") / f"ludus-{scene.token}"
            folder.mkdir()
            scene.stack.callback(shutil.rmtree, folder, ignore_errors=True)
            scene.params["folder"] = str(folder)

    return prepare


FILL = """
path = f"{P['folder']}/fill"
total = 0
try:
    with open(path, "wb", 0) as file:
        while total < 4 * P["limit"]:
            total += file.write(bytes(1 << 20))
except OSError as error:
    os.unlink(path) if os.path.exists(path) else None
    if total > 1.25 * P["limit"]:
        broke(f"{total >> 20} MiB before {error}")
    refused(error)
os.unlink(path)
broke(f"{total >> 20} MiB where {P['limit'] >> 20} MiB were allowed")
"""

SMALL_DISK = {"disk": 8 * MIB, "tmp": 4 * MIB}

ATTACKS = (
    *(
        Attack(
            name=f"fill_{name.strip('/').replace('/', '_')}",
            threat=f"the host's disk or memory through {name}",
            policy=SMALL_DISK,
            prepare=_place(name, limit=limit),
            script=FILL,
            death_holds=True,
        )
        for name, limit in (("/workspace", 8 * MIB), ("/tmp", 4 * MIB), ("/dev/shm", 4 * MIB))
    ),
    Attack(
        name="fill_any_other_mount",
        threat="the host's memory through a writable mount that nobody sized",
        policy={"disk": 8 * MIB, "tmp": 4 * MIB},
        prepare=_place("/workspace"),
        script="""
known = {"/workspace", "/tmp", "/dev/shm"}
places = [m for m in mount_points() if m not in known] if P["boxed"] else [P["folder"]]
for place in [*places, *(["/run", "/var/tmp", "/run/lock", "/dev/mqueue"] if P["boxed"] else [])]:
    path = f"{place}/fill-{P['token']}"
    total = 0
    try:
        with open(path, "wb", 0) as file:
            for _ in range(16):
                total += file.write(bytes(1 << 20))
    except OSError:
        pass
    if os.path.exists(path):
        os.unlink(path)
    if total > 8 << 20:
        broke(f"{total >> 20} MiB at {place}")
held("every other mount is read-only or sized")
""",
        death_holds=True,
    ),
    Attack(
        name="take_inodes",
        threat="the kernel's memory, as empty files that no size limit counts",
        policy={"memory": 48 * MIB, "disk": 8 * MIB},
        prepare=_place("/workspace", count=INODES),
        script="""
folder = P["folder"] + "/many"
os.mkdir(folder)
os.chdir(folder)
try:
    for number in range(P["count"]):
        os.mknod(str(number))
except OSError as error:
    refused(error)
broke(f"{P['count']} files in a workspace of 8 MiB")
""",
        death_holds=True,
    ),
    Attack(
        name="reserve_sparse_file",
        threat="tools of the host that believe a file's size",
        policy={"disk": 8 * MIB},
        prepare=_place("/workspace"),
        script="""
path = P["folder"] + "/reserved"
file = os.open(path, os.O_RDWR | os.O_CREAT)
os.posix_fallocate(file, 0, 64 << 20)
os.unlink(path)
broke("64 MiB reserved where 8 MiB were allowed")
""",
        death_holds=True,
    ),
)
