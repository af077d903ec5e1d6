"""Mounts: making, moving, removing and rewriting them, and leaving a changed root.

Unboxed, every mount is made in a mount namespace of its own, so the host's stay as they are.
"""

from __future__ import annotations

from tests.sandbox.attacks.attack import Attack, Scene, shows_canary
from tests.sandbox.attacks.host import secret

__all__ = ["ATTACKS"]


def _secret_folder(scene: Scene) -> None:
    path = secret(scene)
    scene.params |= {"path": str(path), "folder": str(path.parent)}


def _read_only_place(scene: Scene) -> None:
    scene.params["folder"] = str(scene.public_folder(0o777))


def _covered(scene: Scene) -> None:
    _secret_folder(scene)
    scene.params["boxed_targets"] = ["/workspace", "/tmp", "/proc", "/dev", "/usr", "/etc", "/"]


ATTACKS = (
    Attack(
        name="mount_tmpfs",
        threat="a mount of the box's own, the start of most escapes",
        needs_root=True,
        script="""
private_mounts_refused = None
try:
    private_mounts()
except OSError as error:
    private_mounts_refused = error
if private_mounts_refused and not P["boxed"]:
    raise private_mounts_refused
mount("none", "/tmp", "tmpfs", 0)
broke("mounted a tmpfs")
""",
    ),
    Attack(
        name="bind_over_system_file",
        threat="what other programs take for a system file",
        needs_root=True,
        prepare=_secret_folder,
        script="""
try:
    private_mounts()
except OSError:
    if not P["boxed"]:
        raise
open("/tmp/mine-" + P["token"], "w").close()
try:
    mount("/tmp/mine-" + P["token"], "/etc/passwd", None, 0x1000)
finally:
    os.unlink("/tmp/mine-" + P["token"])
broke("bound over /etc/passwd")
""",
    ),
    Attack(
        name="remount_writable",
        threat="the host's read-only folders, made writable by a remount",
        needs_root=True,
        prepare=_read_only_place,
        script="""
REMOUNT, BIND, RDONLY = 0x20, 0x1000, 1
targets = mount_points() if P["boxed"] else [P["folder"]]
if not P["boxed"]:
    private_mounts()
    mount(P["folder"], P["folder"], None, BIND)
    mount(None, P["folder"], None, REMOUNT | BIND | RDONLY)
for target in targets:
    for flags in (REMOUNT | BIND, REMOUNT):
        try:
            mount(None, target, None, flags)
            open(f"{target}/written-{P['token']}", "w").close()
            os.unlink(f"{target}/written-{P['token']}")
            broke(f"{target} is writable now")
        except OSError as error:
            last = error
refused(last)
""",
    ),
    Attack(
        name="make_writable_by_mount_setattr",
        threat="the same through the newer system call, which filters forget",
        needs_root=True,
        prepare=_read_only_place,
        script="""
REMOUNT, BIND, RDONLY = 0x20, 0x1000, 1
target = "/usr" if P["boxed"] else P["folder"]
if not P["boxed"]:
    private_mounts()
    mount(target, target, None, BIND)
    mount(None, target, None, REMOUNT | BIND | RDONLY)
attributes = struct.pack("QQQQ", 0, 1, 0, 0)
call(442, -100, target.encode(), 0, attributes, len(attributes))
broke(f"{target} lost its read-only flag")
""",
    ),
    Attack(
        name="mount_by_descriptors",
        threat="a mount through fsopen, fsmount and move_mount, which filters forget",
        needs_root=True,
        script="""
if not P["boxed"]:
    private_mounts()
context = call(430, b"tmpfs", 0)
call(431, context, 6, None, None, 0)
mounted = call(432, context, 0, 0)
broke(f"a detached tmpfs as descriptor {mounted}")
""",
    ),
    Attack(
        name="clone_mount_tree",
        threat="a detached copy of the mounts through open_tree",
        needs_root=True,
        script="""
if not P["boxed"]:
    private_mounts()
tree = call(428, -100, b"/", 1)
broke(f"the tree as descriptor {tree}")
""",
    ),
    Attack(
        name="uncover_by_umount",
        threat="what lies under the box's own mounts",
        needs_root=True,
        prepare=_covered,
        script="""
targets = P["boxed_targets"] + mount_points() if P["boxed"] else [P["folder"]]
if not P["boxed"]:
    private_mounts()
    mount("none", P["folder"], "tmpfs", 0)
for target in targets:
    try:
        check(libc.umount2(target.encode(), 2))
        gone = target
        break
    except OSError as error:
        last = error
else:
    refused(last)
broke(f"unmounted {gone}: {open(P['path']).read() if not P['boxed'] else ''} canary-{P['token']}")
""",
        verdict=shows_canary,
    ),
    Attack(
        name="pivot_to_old_root",
        threat="the host's root, which a careless pivot leaves reachable",
        needs_root=True,
        prepare=_read_only_place,
        script="""
if not P["boxed"]:
    private_mounts()
    mount(P["folder"], P["folder"], None, 0x1000)
    os.mkdir(P["folder"] + "/old")
    call(155, P["folder"].encode(), (P["folder"] + "/old").encode())
    broke(f"the old root: {len(os.listdir('/old'))} entries")
os.makedirs("/workspace/new/old")
call(155, b"/workspace/new", b"/workspace/new/old")
broke("pivoted")
""",
    ),
    Attack(
        name="leave_chroot_by_descriptor",
        threat="the host's root, through a folder opened before chroot",
        needs_root=True,
        prepare=_secret_folder,
        script="""
root = os.open("/", os.O_RDONLY)
os.makedirs(P["workspace"] + "/jail", exist_ok=True)
os.chroot(P["workspace"] + "/jail")
os.fchdir(root)
for _ in range(32):
    os.chdir("..")
os.chroot(".")
broke(open(P["path"]).read())
""",
        verdict=shows_canary,
    ),
)
