"""The few system calls that Python does not offer, by way of the C library."""

from __future__ import annotations

import ctypes
import errno
import os
import struct

__all__ = [
    "become",
    "enter",
    "forgo_rights",
    "mount",
    "restrict_mounts",
    "set_loopback",
    "unmount",
    "unshare",
]

CLONE_FS, CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWNET = 0x200, 0x20000, 0x8000000, 0x40000000
CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWPID = 0x2000000, 0x4000000, 0x20000000
CLONE_NEWUSER = 0x10000000
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV = 0x1, 0x2, 0x4
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 0x1, 0x2, 0x4, 0x8, 0x20
MS_BIND, MS_MOVE, MS_REC, MS_SLAVE, MS_PRIVATE = 0x1000, 0x2000, 0x4000, 0x80000, 0x40000
_IDS = {"x86_64": (116, 119, 117), "aarch64": (159, 149, 147)}
_MOUNT_SETATTR, _CAPSET = 442, {"x86_64": 126, "aarch64": 91}
_AT_FDCWD, _AT_NOFOLLOW, _AT_RECURSIVE = -100, 0x100, 0x8000
_MNT_DETACH, _UMOUNT_NOFOLLOW = 0x2, 0x8
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
_CAPABILITY_VERSION = 0x20080522
_SIOCSIFFLAGS, _IFF_UP, _IFF_RUNNING = 0x8914, 0x1, 0x40


_known: dict[str, ctypes.CDLL] = {}


def _libc() -> ctypes.CDLL:
    # functools.cache takes longer to import than all of this module.
    if "c" not in _known:
        _known["c"] = ctypes.CDLL(None, use_errno=True)
    return _known["c"]


def _check(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), what)


def unshare(flags: int) -> None:
    """Give the calling thread namespaces of its own."""
    _check(_libc().unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """Mount in the calling thread's mount namespace."""
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    data = options.encode() or None
    _check(_libc().mount(*words, ctypes.c_ulong(flags), data), target)


def become(uid: int, gid: int) -> None:
    """Make only the calling thread another user, without rights.

    The C library's functions would change every thread.
    """
    groups, gids, uids = (ctypes.c_long(number) for number in _IDS[os.uname().machine])
    call = _libc().syscall
    _check(call(groups, ctypes.c_size_t(0), None), "setgroups")
    _check(call(gids, *[ctypes.c_uint(gid)] * 3), "setresgid")
    _check(call(uids, *[ctypes.c_uint(uid)] * 3), "setresuid")


def enter(process: int, spaces: int) -> None:
    """Move the calling thread into the namespaces ``spaces`` (``CLONE_NEW`` flags) of a process.

    ``process`` is a pidfd, or a descriptor of the one namespace itself.
    """
    _check(_libc().setns(ctypes.c_int(process), ctypes.c_int(spaces)), "setns")


def unmount(target: str) -> None:
    """Take a mount away at once; who still uses it keeps it."""
    flags = ctypes.c_int(_MNT_DETACH | _UMOUNT_NOFOLLOW)
    _check(_libc().umount2(os.fsencode(target), flags), target)


def restrict_mounts(target: str, attributes: int, *, below: bool) -> None:
    """Set attributes of the mount at ``target``, and where ``below`` says so of all below it."""
    flags = _AT_NOFOLLOW | (_AT_RECURSIVE if below else 0)
    words = struct.pack("=4Q", attributes, 0, 0, 0)
    done = _libc().syscall(
        ctypes.c_long(_MOUNT_SETATTR),
        ctypes.c_int(_AT_FDCWD),
        os.fsencode(target),
        ctypes.c_uint(flags),
        words,
        ctypes.c_size_t(len(words)),
    )
    _check(done, target)


def forgo_rights(uid: int, gid: int) -> None:
    """Make the calling thread another user that has no capability and can never get one."""
    for capability in range(64):
        try:
            _prctl(_PR_CAPBSET_DROP, capability)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            break  # the kernel knows no more of them
    become(uid, gid)
    header, none = struct.pack("=Ii", _CAPABILITY_VERSION, 0), bytes(24)
    number = ctypes.c_long(_CAPSET[os.uname().machine])
    _check(_libc().syscall(number, header, none), "capset")
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def _prctl(option: int, *values: int) -> None:
    words = [ctypes.c_ulong(value) for value in (*values, *[0] * (4 - len(values)))]
    _check(_libc().prctl(ctypes.c_int(option), *words), "prctl")


def set_loopback(*, up: bool) -> None:
    """Bring the loopback device of the calling thread's network namespace up or down."""
    # They take longer to import than all else here, which a stage without root waits for.
    import fcntl
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        request = struct.pack("16sH14x", b"lo", _IFF_UP | _IFF_RUNNING if up else 0)
        fcntl.ioctl(link.fileno(), _SIOCSIFFLAGS, request)
