"""Power over the machine: users, capabilities, namespaces, other processes."""

from __future__ import annotations

import os
import shutil
import struct

from tests.sandbox.attacks.attack import Attack, Outcome, Scene, broke, held, shows_canary
from tests.sandbox.attacks.host import victim

__all__ = ["ATTACKS"]

CAP_NET_RAW = 1 << 13
VFS_CAP_REVISION_2_EFFECTIVE = 0x02000001


def _set_user_program(scene: Scene) -> None:
    """A copy of `id` that runs as root; it can do nothing else with that."""
    folder = scene.public_folder()
    shutil.copy("/usr/bin/id", folder / "id")
    (folder / "id").chmod(0o4755)
    scene.params["program"] = f"{scene.share(folder)}/id"


def _capable_program(scene: Scene) -> None:
    """A copy of `cat` with CAP_NET_RAW as a file capability."""
    folder = scene.public_folder()
    shutil.copy("/bin/cat", folder / "cat")
    granted = struct.pack("<IIIII", VFS_CAP_REVISION_2_EFFECTIVE, CAP_NET_RAW, 0, 0, 0)
    os.setxattr(folder / "cat", "security.capability", granted)
    scene.params["program"] = f"{scene.share(folder)}/cat"


def _killed(scene: Scene, outcome: Outcome) -> Outcome:
    if scene.kept["victim"].poll() is None:
        return outcome if outcome.word != "BROKE" else held(f"the victim lives: {outcome.text}")
    return broke("a process of the host died")


USERS = (
    Attack(
        name="become_root",
        threat="everything that root may do",
        needs_root=True,
        script="""
for change in (lambda: os.setresuid(0, 0, 0), lambda: os.setresgid(0, 0, 0),
               lambda: os.setgroups([0])):
    try:
        change()
        broke(f"now {os.getresuid()} {os.getresgid()} {os.getgroups()}")
    except OSError as error:
        last = error
refused(last)
""",
    ),
    Attack(
        name="keep_groups_of_the_host",
        threat="files that a group of the host's user may read",
        needs_root=True,
        prepare=lambda scene: scene.params.update(groups=[0, *os.getgroups()]),
        script="""
mine = {os.getgid(), os.getegid(), *os.getgroups()} & set(P["groups"])
broke(f"in the groups {sorted(mine)}") if mine else held(f"groups {os.getgroups()}")
""",
    ),
    Attack(
        name="hold_capabilities",
        threat="parts of root's power",
        needs_root=True,
        script="""
fields = dict(line.split(":", 1) for line in open("/proc/self/status"))
sets = {name: int(fields[name], 16) for name in ("CapInh", "CapPrm", "CapEff")}
sets["CapAmb"] = int(fields.get("CapAmb", "0"), 16)
broke(sets) if any(sets.values()) else held("none at all")
""",
    ),
    Attack(
        name="gain_privileges_at_exec",
        threat="set-user-id programs and file capabilities work again",
        script="""
value = libc.prctl(39, 0, 0, 0, 0)
held("no_new_privs is set") if value == 1 else broke("no_new_privs is not set")
""",
    ),
    Attack(
        name="run_set_user_id_program",
        threat="root through a set-user-id program on a shared folder",
        needs_root=True,
        prepare=_set_user_program,
        script="""
demote()
before = os.getuid()
after = int(subprocess.run([P["program"], "-u"], capture_output=True, check=True).stdout)
broke(f"user {before} ran it as {after}") if after != before else held(f"stays {before}")
""",
    ),
    Attack(
        name="run_su",
        threat="root through su, sudo, mount or ping of the system",
        needs_root=True,
        script="""
demote()
def effective(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("Uid:"):
            return int(line.split()[2])
found = None
for program in ("/usr/bin/su", "/bin/su", "/usr/bin/sudo", "/usr/bin/newgrp", "/bin/mount"):
    if not os.path.exists(program) or found:
        continue
    child = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    for _ in range(10):
        time.sleep(0.01)
        try:
            if effective(child.pid) not in (None, os.getuid()):
                found = f"{program} runs as user {effective(child.pid)}"
                break
        except OSError:
            break
    child.stdin.close()
    try:
        child.kill()
    except OSError:
        pass
broke(found) if found else held("they run as the box's user")
""",
    ),
    Attack(
        name="run_program_with_file_capability",
        threat="raw sockets and more through a program with file capabilities",
        needs_root=True,
        promised_to_root=True,
        prepare=_capable_program,
        script="""
demote()
status = subprocess.run([P["program"], "/proc/self/status"], capture_output=True).stdout.decode()
effective = [int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff")]
if not effective:
    held("it does not run at all")
broke(f"capabilities {effective[0]:x}") if effective[0] else held("no capability gained")
""",
    ),
    Attack(
        name="make_user_namespace",
        threat="all capabilities in a new namespace, the way into most kernel holes",
        script="""
check(libc.unshare(0x10000000))
broke("a user namespace")
""",
    ),
    Attack(
        name="make_user_namespace_by_clone3",
        threat="the same by clone3, whose flags no filter can see",
        script="""
arguments = struct.pack("QQQQQQQQ", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
child = call(435, arguments, len(arguments))
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
broke("a user namespace")
""",
    ),
    Attack(
        name="make_other_namespaces",
        threat="mount, network, process and IPC namespaces, each with kernel code to attack",
        needs_root=True,
        script="""
for name, flag in (("net", 0x40000000), ("ipc", 0x8000000), ("uts", 0x4000000),
                   ("mnt", 0x20000), ("cgroup", 0x2000000), ("pid", 0x20000000)):
    try:
        check(libc.unshare(flag))
        broke(f"a namespace: {name}")
    except OSError as error:
        last = error
refused(last)
""",
    ),
    Attack(
        name="make_device_node",
        threat="the host's disk through a device node of the box's own",
        needs_root=True,
        script="""
path = P["workspace"] + "/node"
os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(7, 0))
os.unlink(path)
broke("made a block device")
""",
    ),
    Attack(
        name="give_file_to_root",
        threat="a file that the host later believes to be root's",
        needs_root=True,
        script="""
path = P["workspace"] + "/mine"
open(path, "w").close()
os.chown(path, 0, 0)
broke("root owns it now")
""",
    ),
    Attack(
        name="rename_the_host",
        threat="the host's name",
        needs_root=True,
        script="""
socket.sethostname(socket.gethostname())
broke("sethostname works")
""",
    ),
)

PROCESSES = (
    Attack(
        name="trace_host_process",
        threat="full control of a host process through ptrace",
        prepare=victim,
        script="""
SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
check(libc.ptrace(SEIZE, P["pid"], None, None))
broke("seized the victim")
""",
    ),
    Attack(
        name="read_host_process_by_vm_readv",
        threat="the memory of a host process without /proc",
        prepare=victim,
        script="""
buffer = ctypes.create_string_buffer(P["length"])
local = struct.pack("QQ", ctypes.addressof(buffer), P["length"])
remote = struct.pack("QQ", P["address"], P["length"])
call(310, P["pid"], local, 1, remote, 1, 0)
broke(buffer.value.decode())
""",
        verdict=shows_canary,
    ),
    Attack(
        name="take_host_process_descriptor",
        threat="an open file of a host process through pidfd_getfd",
        prepare=victim,
        script="""
handle = os.pidfd_open(P["pid"])
taken = call(438, handle, P["descriptor"], 0)
broke(os.pread(taken, 1000, 0).decode())
""",
        verdict=shows_canary,
    ),
    Attack(
        name="enter_host_namespaces",
        threat="the host itself: setns to the namespaces of a host process",
        prepare=victim,
        needs_root=True,
        script="""
last = OSError(errno.ESRCH, "none")
for kind in ("uts", "net", "ipc", "mnt"):
    try:
        space = os.open(f"/proc/{P['pid']}/ns/{kind}", os.O_RDONLY)
        check(libc.setns(space, 0))
        broke(f"entered {kind}")
    except OSError as error:
        last = error
refused(last)
""",
    ),
    Attack(
        name="signal_host_process",
        threat="any process of the host, ended at will",
        prepare=victim,
        script="""
os.kill(P["pid"], signal.SIGKILL)
time.sleep(0.05)
broke("sent")
""",
        verdict=_killed,
    ),
    Attack(
        name="reschedule_host_process",
        threat="the host's processes, slowed or pinned by the box",
        prepare=victim,
        script="""
os.setpriority(os.PRIO_PROCESS, P["pid"], 5)
os.sched_setaffinity(P["pid"], os.sched_getaffinity(P["pid"]))
broke("reniced and pinned the victim")
""",
    ),
)

ATTACKS = (*USERS, *PROCESSES)
