"""The few helpers that every hostile script starts with."""

from __future__ import annotations

__all__ = ["PRELUDE"]

PRELUDE = r'''
import ctypes, errno, glob, json, os, resource, signal, socket, stat, struct, subprocess, sys, time

P = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)


def say(word, text):
    text = str(text).replace("\n", " ")[:400]
    os.write(1, f"\n{word}: {text}\n".encode(errors="replace"))
    os._exit(0)


def held(reason):
    say("HELD", reason)


def broke(evidence):
    say("BROKE", evidence)


def refused(error):
    held(f"{errno.errorcode.get(error.errno, error.errno)} {error}")


def check(value):
    """Raise the errno of a libc call that returned -1."""
    if value == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return value


def call(number, *args):
    """A raw system call."""
    libc.syscall.restype = ctypes.c_long
    ready = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    return check(libc.syscall(ctypes.c_long(number), *ready))


def mount(source, target, kind, flags, data=None):
    encode = lambda text: None if text is None else text.encode()
    check(libc.mount(encode(source), encode(target), encode(kind),
                     ctypes.c_ulong(flags), encode(data)))


def private_mounts():
    """A mount namespace of our own, so that nothing below reaches the host's; may be refused."""
    NEWNS = 0x20000
    check(libc.unshare(NEWNS))
    mount(None, "/", None, 0x44000)  # MS_REC | MS_PRIVATE


def mount_points():
    return [line.split()[4].encode().decode("unicode_escape")
            for line in open("/proc/self/mountinfo")]


def visible(pid):
    """The host's process, and in a box whatever else can be seen."""
    others = [int(p) for p in os.listdir("/proc") if p.isdigit()] if P["boxed"] else []
    return [pid, *(p for p in others if p not in (pid, os.getpid()))]


def demote():
    """Become nobody where we are root, so that regaining power means something."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)


def uncaught(kind, error, trace):
    """An attack that the kernel refuses has been held."""
    if isinstance(error, OSError):
        refused(error)
    sys.__excepthook__(kind, error, trace)


sys.excepthook = uncaught
'''
