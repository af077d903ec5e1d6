"""Host files: reading, writing and linking what the box was never given."""

from __future__ import annotations

import os
import pwd
import shutil
from pathlib import Path

from tests.sandbox.attacks.attack import Attack, Outcome, Scene, broke, shows_canary
from tests.sandbox.attacks.host import secret, victim

__all__ = ["ATTACKS"]


def _private(scene: Scene) -> None:
    scene.params["path"] = str(secret(scene))


def _public(scene: Scene) -> None:
    path = scene.public_folder() / "note"
    path.write_text(scene.canary)
    path.chmod(0o644)
    scene.params["path"] = str(path)


def _open_folder(scene: Scene) -> None:
    scene.kept["folder"] = folder = scene.public_folder(0o777)
    scene.params["folder"] = str(folder)


def _written(scene: Scene, outcome: Outcome) -> Outcome:
    """Only a file that the host sees is a file written on the host."""
    found = sorted(p.name for p in scene.kept["folder"].iterdir() if p.name.startswith("planted"))
    if found:
        return broke(f"the host's folder now holds {found}")
    if outcome.word == "BROKE":
        return Outcome("INVALID", f"claims a write that the host does not see: {outcome.text}")
    return outcome


def _identity(path: str) -> list[int]:
    info = os.stat(path)  # noqa: PTH116  # device and inode only, never content
    return [info.st_dev, info.st_ino]


def _shadow(scene: Scene) -> None:
    scene.params |= {"path": "/etc/shadow", "identity": _identity("/etc/shadow")}


def _homes(scene: Scene) -> None:
    homes = {entry.pw_dir for entry in pwd.getpwall() if entry.pw_uid in {0, os.getuid()}}
    scene.params["homes"] = {home: _identity(home) for home in homes if Path(home).is_dir()}


def _keys(scene: Scene) -> None:
    home = scene.folder / "home"
    (home / ".ssh").mkdir(parents=True, mode=0o700)
    (home / ".ssh" / "id_ed25519").write_text(scene.canary)
    scene.params["home"] = str(home)


def _neighbour(scene: Scene) -> None:
    box = scene.open_box()
    if scene.boxed:
        box.write_bytes(f"/workspace/neighbour-{scene.token}", scene.canary.encode())
        state = os.environ.get("LUDUS_STATE", "/run/ludus")
        scene.params["roots"] = ["/run", "/tmp", "/var/tmp", "/home", "/srv", "/mnt", state]
    else:
        box.write_bytes(box.workspace / f"neighbour-{scene.token}", scene.canary.encode())
        scene.params["roots"] = [str(box.workspace.parent)]


def _machine_parts(scene: Scene) -> None:
    folders = [
        "/",
        "/usr",
        "/usr/bin",
        "/usr/lib",
        "/etc",
        "/opt",
        "/var",
        "/root",
        "/home",
        "/sys",
    ]
    scene.params["folders"] = folders if scene.boxed else [str(scene.public_folder())]


def _device_folder(scene: Scene) -> None:
    scene.params["folders"] = ["/dev", "/dev/pts", "/proc"] if scene.boxed else ["/dev"]


def _shared(scene: Scene) -> None:
    scene.kept["folder"] = folder = scene.public_folder(0o777)
    (folder / "data").write_text("data")
    (folder / "data").chmod(0o666)
    scene.params["shared"] = scene.share(folder)


def _shared_link(scene: Scene) -> None:
    folder = scene.public_folder()
    (folder / "link").symlink_to(secret(scene))
    scene.params["shared"] = scene.share(folder)


def _linkable(scene: Scene) -> None:
    """A world-writable file outside the box, or in a box every file that it shows read-only."""
    folder = scene.public_folder(0o777)
    (folder / "data").write_text("untouched")
    (folder / "data").chmod(0o666)
    scene.kept["data"] = folder / "data"
    inside = scene.share(folder)
    scene.params["path"] = f"{inside}/data"


def _untouched(scene: Scene, outcome: Outcome) -> Outcome:
    now = scene.kept["data"].read_text()
    return outcome if now == "untouched" else broke(f"the host's file now says {now!r}")


def _tools(scene: Scene) -> None:
    scene.kept["folder"] = folder = scene.public_folder(0o755)
    shutil.copy("/bin/true", folder / "tool")
    scene.params["shared"] = scene.share(folder)


READ = """
routes = ["", "/proc/self/root", "/proc/self/cwd/../../../../../..", "/..", "/host", "/mnt",
          "/oldroot", "/newroot", "/.pivot_root", "/run/host", "/sysroot", "/proc/1/root"]
for route in routes:
    try:
        broke(route + " " + open(route + P["path"]).read())
    except OSError as error:
        last = error
refused(last)
"""

EVERY_PROCESS = """
last = OSError(errno.ESRCH, "no process")
for pid in visible(P["pid"]):
    try:
        data = look(pid)
    except (OSError, OverflowError) as error:
        last = error if isinstance(error, OSError) else last
        continue
    if b"canary-" + P["token"].encode() in data:
        broke(f"{pid} " + "canary-" + P["token"])
refused(last)
"""

ATTACKS = (
    Attack(
        name="read_private_file",
        threat="a file only its owner may read, such as a key in root's home",
        prepare=_private,
        script=READ,
        verdict=shows_canary,
    ),
    Attack(
        name="read_world_readable_file",
        threat="a file every user of the host may read",
        prepare=_public,
        script=READ,
        verdict=shows_canary,
    ),
    Attack(
        name="write_world_writable_folder",
        threat="a folder every user of the host may write, such as /tmp",
        prepare=_open_folder,
        script="""
open(P["folder"] + "/planted", "w").write("x")
broke("written")
""",
        verdict=_written,
    ),
    Attack(
        name="open_password_hashes",
        threat="/etc/shadow of the host",
        prepare=_shadow,
        needs_root=True,
        script="""
with open(P["path"], "rb") as file:
    info = os.fstat(file.fileno())
if [info.st_dev, info.st_ino] == P["identity"]:
    broke("opened the host's own file")
held("a file of the same name that is not the host's")
""",
    ),
    Attack(
        name="list_home_folders",
        threat="the names and files in the homes of the host's users",
        prepare=_homes,
        script="""
for home, identity in P["homes"].items():
    try:
        os.listdir(home)
        info = os.stat(home)
    except OSError:
        continue
    if [info.st_dev, info.st_ino] == identity:
        broke(f"listed {home}")
held("no home of the host")
""",
    ),
    Attack(
        name="read_ssh_key",
        threat="a user's private key",
        prepare=_keys,
        script="""
found = glob.glob(P["home"] + "/.ssh/id_*")
broke(open(found[0]).read()) if found else held("no key to be seen")
""",
        verdict=shows_canary,
    ),
    Attack(
        name="read_other_box",
        threat="the files of another box that runs at the same time",
        prepare=_neighbour,
        script="""
roots = P["roots"] + (glob.glob("/proc/[0-9]*/root/workspace") if P["boxed"] else [])
for root in roots:
    for folder, _, names in os.walk(root):
        for name in names:
            if name == "neighbour-" + P["token"]:
                broke(open(os.path.join(folder, name)).read())
held("the neighbour's file is nowhere")
""",
        verdict=shows_canary,
    ),
    Attack(
        name="read_host_process_environment",
        threat="secrets in the environment of a host process (/proc/PID/environ)",
        prepare=victim,
        script="look = lambda pid: open(f'/proc/{pid}/environ', 'rb').read()\n" + EVERY_PROCESS,
        verdict=shows_canary,
    ),
    Attack(
        name="read_host_process_memory",
        threat="the memory of a host process (/proc/PID/mem)",
        prepare=victim,
        script="""
def look(pid):
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        memory.seek(P["address"])
        return memory.read(P["length"])
"""
        + EVERY_PROCESS,
        verdict=shows_canary,
    ),
    Attack(
        name="read_through_host_process_root",
        threat="the whole host through /proc/PID/root",
        prepare=victim,
        script="look = lambda pid: open(f'/proc/{pid}/root' + P['path'], 'rb').read()\n"
        + EVERY_PROCESS,
        verdict=shows_canary,
    ),
    Attack(
        name="read_through_host_process_cwd",
        threat="the working folder of a host process through /proc/PID/cwd",
        prepare=victim,
        script="look = lambda pid: open(f'/proc/{pid}/cwd/secret', 'rb').read()\n" + EVERY_PROCESS,
        verdict=shows_canary,
    ),
    Attack(
        name="read_through_host_process_descriptor",
        threat="a file that a host process holds open, through /proc/PID/fd",
        prepare=victim,
        script="""
look = lambda pid: open(f'/proc/{pid}/fd/{P["descriptor"]}', 'rb').read(1000)
"""
        + EVERY_PROCESS,
        verdict=shows_canary,
    ),
    Attack(
        name="write_system_folders",
        threat="the system's own folders, which every later command runs from",
        prepare=_machine_parts,
        script="""
for folder in P["folders"]:
    path = f"{folder}/planted-{P['token']}"
    try:
        open(path, "w").close()
    except OSError:
        continue
    os.unlink(path)
    broke(f"could write in {folder}")
held("all read-only")
""",
    ),
    Attack(
        name="write_device_folder",
        threat="an unsized tmpfs at /dev: memory of the host outside every disk limit",
        prepare=_device_folder,
        needs_root=True,
        script="""
for folder in P["folders"]:
    path = f"{folder}/planted-{P['token']}"
    try:
        open(path, "w").close()
    except OSError:
        continue
    os.unlink(path)
    broke(f"could write in {folder}")
held("all read-only")
""",
    ),
    Attack(
        name="write_read_only_mount",
        threat="data that was shared for reading only",
        prepare=_shared,
        script="""
open(P["shared"] + "/planted", "w").write("x")
broke("written")
""",
        verdict=_written,
    ),
    Attack(
        name="replace_shared_program",
        threat="a program on a read-only share that the host runs later",
        prepare=_tools,
        needs_root=True,
        script="""
os.chmod(P["shared"], 0o777)
os.rename(P["shared"] + "/tool", P["shared"] + "/planted")
broke("renamed")
""",
        verdict=_written,
    ),
    Attack(
        name="follow_link_in_shared_folder",
        threat="a file outside the shared folder that a link in it names",
        prepare=_shared_link,
        script="""
path = P["shared"] + "/link"
broke(open(path).read())
""",
        verdict=shows_canary,
    ),
    Attack(
        name="write_through_hard_link",
        threat="a read-only file, through a second name for it in the workspace",
        prepare=_linkable,
        script="""
name = f"{'/tmp' if not P['boxed'] else P['workspace']}/hard-{P['token']}"
try:
    os.link(P["path"], name)
    open(name, "w").write("changed")
finally:
    if os.path.exists(name):
        os.unlink(name)
broke("linked and written")
""",
        verdict=_untouched,
    ),
    Attack(
        name="open_raw_devices",
        threat="disk, memory, kernel log and virtual machines through device nodes",
        needs_root=True,
        own_kernel="gVisor makes up fuse and net/tun itself; no device of the host is behind them",
        script="""
names = ["vda", "sda", "nvme0n1", "mem", "port", "kmsg", "kvm", "fuse", "loop-control",
         "net/tun", "vsock", "cpu/0/msr", "hpet", "uinput", "snapshot"]
opened = []
for name in names:
    try:
        os.close(os.open("/dev/" + name, os.O_RDONLY | os.O_NONBLOCK))
        opened.append(name)
    except OSError:
        pass
broke(f"opened {opened}") if opened else held("no such device")
""",
    ),
    Attack(
        name="identify_host",
        threat="the identity of the host, which links runs that should be unrelated",
        prepare=lambda scene: scene.params.update(identity=_identity("/etc/hostname")),
        script="""
info = os.stat("/etc/hostname")
if [info.st_dev, info.st_ino] == P["identity"]:
    broke("the host's own /etc/hostname")
held("not the host's")
""",
    ),
)
