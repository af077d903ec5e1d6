"""What an attacker tries who runs code in a container: prints the names of what succeeded.

It runs in the image, and imports nothing of the tests.
"""

import ctypes
import json
import os
import shutil
import socket
import stat
import subprocess
from pathlib import Path

import ludus

LIBC = ctypes.CDLL(None, use_errno=True)
NEWNS, NEWUSER = 0x20000, 0x10000000
REMOUNT, BIND = 32, 4096
ROOT, TMP = b"/", b"/tmp"


def mount(kind, place, flags):
    if LIBC.mount(b"none", place, kind, flags, None) != 0:
        raise OSError(ctypes.get_errno(), "mount")


def write(path):
    with Path(path).open("a") as file:
        file.write("x")


def open_file(path, flags=os.O_WRONLY):
    os.close(os.open(path, flags))


def unshare(flags):
    if LIBC.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), "unshare")


def remount_as_another_user():
    """With all capabilities of a user namespace, where the kernel gives one."""
    unshare(NEWUSER | NEWNS)
    mount(None, ROOT, REMOUNT | BIND)
    write("/written")


def run_from_tmp():
    shutil.copy("/bin/true", "/tmp/program")
    subprocess.run(["/tmp/program"], check=True)


def become_root_by_a_program():
    """By one whose owner is root, if it kept the right to run as its owner."""
    found = [
        path
        for folder in ("/usr", "/opt")
        for path in Path(folder).rglob("*")
        if not path.is_symlink() and path.is_file() and path.stat().st_mode & 0o6000
    ]
    if not found:
        raise PermissionError("none")


def other_interfaces():
    if [path.name for path in Path("/sys/class/net").iterdir()] == ["lo"]:
        raise PermissionError("only loopback")


def leave_the_limits():
    for path in Path("/sys/fs/cgroup").rglob("cgroup.procs"):
        try:
            path.write_text("0")
        except OSError:
            continue
        return
    raise PermissionError("none")


def raise_capabilities():
    status = Path("/proc/self/status").read_text()
    rows = dict(line.split(":\t") for line in status.splitlines() if line.startswith("Cap"))
    if all(int(value, 16) == 0 for value in rows.values()):
        raise PermissionError("none")


ATTEMPTS = {
    "be root": lambda: os.setuid(0),
    "have the group of root": lambda: os.setgid(0),
    "have a capability": raise_capabilities,
    "become root by a program": become_root_by_a_program,
    "write to the root": lambda: write("/written"),
    "change the library": lambda: write(ludus.__file__),
    "change the interpreter": lambda: write("/usr/bin/python3"),
    "change the users": lambda: write("/etc/passwd"),
    "write to the home": lambda: write("/work/written"),
    "mount": lambda: mount(b"tmpfs", TMP, 0),
    "make the root writable": lambda: mount(None, ROOT, REMOUNT | BIND),
    "make the root writable as another user": remount_as_another_user,
    "leave the mounts": lambda: unshare(NEWNS),
    "change the root": lambda: os.chroot("/tmp"),
    "make a disk": lambda: os.mknod("/tmp/sda", 0o600 | stat.S_IFBLK, os.makedev(8, 0)),
    "read memory": lambda: open_file("/dev/mem", os.O_RDONLY),
    "read the kernel's log": lambda: open_file("/dev/kmsg", os.O_RDONLY),
    "set a helper of the kernel": lambda: open_file("/proc/sys/kernel/core_pattern"),
    "restart": lambda: open_file("/proc/sysrq-trigger"),
    "leave the limits": leave_the_limits,
    "reach the engine": lambda: Path("/var/run/docker.sock").stat(),
    "listen to packets": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close(),
    "have a network": other_interfaces,
    "reach the network": lambda: socket.create_connection(("192.0.2.1", 80), 2).close(),
    "run a program of one's own": run_from_tmp,
}


def succeeded():
    for name, attempt in ATTEMPTS.items():
        child = os.fork()
        if child == 0:
            try:
                attempt()
            except BaseException:
                os._exit(1)
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
            yield name


if __name__ == "__main__":
    print(json.dumps({"tried": len(ATTEMPTS), "succeeded": [*succeeded()]}))
