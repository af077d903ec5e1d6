"""The few system calls that Python does not offer, by way of the C library."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from functools import cache

__all__ = ["become", "mount", "raise_loopback", "unshare"]

CLONE_FS, CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWNET = 0x200, 0x20000, 0x8000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT = 0x1, 0x2, 0x4, 0x20
MS_BIND, MS_REC, MS_SLAVE, MS_PRIVATE = 0x1000, 0x4000, 0x80000, 0x40000
_IDS = {"x86_64": (116, 119, 117), "aarch64": (159, 149, 147)}
_SIOCSIFFLAGS, _IFF_UP, _IFF_RUNNING = 0x8914, 0x1, 0x40


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


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
    """Make the calling thread, and only it, another user without any rights of its own.

    The C library's functions would change every thread; the kernel's change the caller.
    """
    groups, gids, uids = (ctypes.c_long(number) for number in _IDS[os.uname().machine])
    call = _libc().syscall
    _check(call(groups, ctypes.c_size_t(0), None), "setgroups")
    _check(call(gids, *[ctypes.c_uint(gid)] * 3), "setresgid")
    _check(call(uids, *[ctypes.c_uint(uid)] * 3), "setresuid")


def raise_loopback() -> None:
    """Bring up the loopback device of the calling thread's network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        request = struct.pack("16sH14x", b"lo", _IFF_UP | _IFF_RUNNING)
        fcntl.ioctl(link.fileno(), _SIOCSIFFLAGS, request)
