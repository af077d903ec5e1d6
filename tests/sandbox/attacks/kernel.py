"""System calls that a job never needs and that kernel exploits start from.

Each is called so that it changes nothing even where it is allowed: with flags, sizes or commands
that the kernel refuses only after it has granted the permission.
"""

from __future__ import annotations

import ctypes
import os

from tests.sandbox.attacks.attack import Attack, Scene, shows_canary
from tests.sandbox.attacks.host import secret, victim

__all__ = ["ATTACKS"]

KEY_SPEC_USER_KEYRING = -4
KEYCTL_UNLINK = 9

GRANTED_IF = """
try:
    {call}
    broke("granted")
except OSError as error:
    if error.errno in ({codes}):
        broke(f"granted, then {{errno.errorcode[error.errno]}} for harmless arguments")
    refused(error)
"""


def _probe(name: str, threat: str, call: str, *codes: str, root: bool = True) -> Attack:
    accepted = "".join(f"errno.{code}, " for code in codes)
    script = GRANTED_IF.format(call=call, codes=accepted)
    return Attack(name=name, threat=threat, script=script, needs_root=root, death_holds=True)


def _handle(scene: Scene) -> None:
    """The kernel's handle of a secret file, as an attacker would guess it (2 is the root's)."""
    path = secret(scene)
    buffer = ctypes.create_string_buffer(8 + 128)
    ctypes.memmove(buffer, (128).to_bytes(4, "little"), 4)
    mount = ctypes.c_int()
    number = 303
    libc = ctypes.CDLL(None, use_errno=True)
    code = libc.syscall(number, -100, os.fsencode(path), buffer, ctypes.byref(mount), 0)
    if code:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    scene.params["handle"] = buffer.raw.hex()


def _host_key(scene: Scene) -> None:
    """A key in the user keyring of the host, which is found by name and not by path."""
    libc = ctypes.CDLL(None, use_errno=True)
    name, text = f"ludus-{scene.token}".encode(), scene.canary.encode()
    key = libc.syscall(248, b"user", name, text, len(text), KEY_SPEC_USER_KEYRING)
    if key > 0:
        scene.stack.callback(libc.syscall, 250, KEYCTL_UNLINK, key, KEY_SPEC_USER_KEYRING)


PROBES = (
    _probe(
        "add_key",
        "keys outlive the box and count against its user",
        """\
key = call(248, b"user", b"ludus-probe", b"x", 1, -2)""",
        root=False,
    ),
    _probe(
        "keyctl",
        "the keyring code, a steady source of kernel holes",
        """\
call(250, 0, -3, 1)""",
        root=False,
    ),
    _probe(
        "request_key",
        "the kernel runs a helper on the host for it",
        """\
call(249, b"user", b"ludus-none", None, 0)""",
        "ENOKEY",
        root=False,
    ),
    _probe(
        "load_bpf",
        "programs in the kernel",
        """\
call(321, 0, struct.pack("IIIIIIII", 2, 4, 4, 1, 0, 0, 0, 0), 32)""",
    ),
    _probe(
        "open_perf_event",
        "counters over other processes and the kernel",
        """\
call(298, struct.pack("IIQQQQQ", 1, 112, 0, 0, 0, 0, 0) + bytes(64), 0, -1, -1, 0)""",
    ),
    _probe(
        "userfaultfd",
        "races in the kernel stretched at will",
        """\
call(323, 1)""",
        root=False,
    ),
    _probe(
        "io_uring",
        "system calls that no filter sees",
        """\
call(425, 1, ctypes.create_string_buffer(120))""",
        root=False,
    ),
    _probe(
        "load_kernel_module",
        "code in the kernel",
        """\
call(175, b"", 0, b"")""",
        "ENOEXEC",
        "EFAULT",
        "EINVAL",
    ),
    _probe(
        "load_kernel_module_file",
        "code in the kernel",
        """\
call(313, -1, b"", 0)""",
        "EBADF",
        "EINVAL",
        "ENOEXEC",
    ),
    _probe(
        "unload_kernel_module",
        "drivers of the host",
        """\
call(176, b"ludus_no_such_module", 0x800)""",
        "ENOENT",
    ),
    _probe(
        "kexec",
        "another kernel",
        """\
call(246, 0, 0, None, 0xff)""",
        "EINVAL",
    ),
    _probe(
        "reboot",
        "the machine",
        """\
call(169, 0xfee1dead, 672274793, 0x0bad0bad, None)""",
        "EINVAL",
    ),
    _probe(
        "set_clock",
        "the host's time",
        """\
buffer = ctypes.create_string_buffer(208); call(159, buffer)
ctypes.memmove(buffer, struct.pack("I", 2), 4)
call(159, buffer)""".replace("\n", "\n    "),
    ),
    _probe(
        "swapon",
        "the host's memory",
        """\
call(167, b"/proc/version", 0)""",
        "EINVAL",
        "EBUSY",
        "EACCES",
    ),
    _probe(
        "process_accounting",
        "a log of every process of the host",
        """\
call(163, b"/proc/version/none")""",
        "ENOTDIR",
    ),
    _probe(
        "port_access",
        "the hardware",
        """\
call(173, 0x80, 1, 1)""",
    ),
    _probe(
        "fanotify",
        "every file access of the host",
        """\
call(300, 0, 0)""",
    ),
    _probe(
        "vhangup",
        "other users' terminals",
        """\
os.setsid() if os.getpid() != os.getsid(0) else None; call(153)""".replace("; ", "\n    "),
    ),
    _probe(
        "compare_kernel_objects",
        "kernel pointers, by comparison",
        """\
call(312, os.getpid(), os.getpid(), 0, 0, 1)""",
        root=False,
    ),
    _probe(
        "change_personality",
        "address layout, and old behaviour with holes",
        """\
call(135, 0x0040000 | 0x0400000)""",
        root=False,
    ),
)

INT80 = r"""
import mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
# push rbx; mov eax, edi; mov ebx, esi; int 0x80; pop rbx; ret
code.write(bytes.fromhex("5389f889f3cd805bc3"))
enter = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint, ctypes.c_uint)(
    ctypes.addressof(ctypes.c_char.from_buffer(code)))
result = enter({number}, {argument})
if result < 0:
    refused(OSError(-result, os.strerror(-result)))
broke(f"the 32-bit entry gave {{result}}")
"""

ATTACKS = (
    *PROBES,
    Attack(
        name="enter_by_32_bit_calls",
        threat="a filter that knows 64-bit numbers only lets everything through here",
        script=INT80.format(number=374, argument=1),
        death_holds=True,
    ),
    Attack(
        name="enter_by_32_bit_namespace",
        threat="a user namespace through the 32-bit entry",
        script=INT80.format(number=310, argument=0x10000000),
        death_holds=True,
    ),
    Attack(
        name="enter_by_x32_calls",
        threat="numbers with bit 30 set that a deny-list does not know",
        script="""
broke(f"x32 call gave {call(0x40000000 | 39)}")
""",
        death_holds=True,
    ),
    Attack(
        name="move_pages_of_host_process",
        threat="where a host process has its memory",
        prepare=victim,
        script="""
call(279, P["pid"], 0, None, None, None, 0)
broke("granted")
""",
        death_holds=True,
    ),
    Attack(
        name="have_the_host_take_a_core_dump",
        threat="a program that the host runs as root, at no cost to the sandbox, for every crash",
        # Where core_pattern is a pipe, the kernel heeds no limit but that of one byte.
        script="""
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
limit = resource.getrlimit(resource.RLIMIT_CORE)
held("the limit is one byte") if limit == (1, 1) else broke(f"the limit is {limit}")
""",
        own_kernel="it takes no core dumps",
    ),
    Attack(
        name="open_by_handle",
        threat="any file of the host's file system without a path to it",
        prepare=_handle,
        needs_root=True,
        script="""
handle = bytes.fromhex(P["handle"])
last = None
for place in (P["workspace"], "/", "/usr", "/etc", "/tmp", "/etc/hosts", "/etc/resolv.conf"):
    try:
        at = os.open(place, os.O_RDONLY)
        file = call(304, at, handle, os.O_RDONLY)
        broke(os.pread(file, 1000, 0).decode())
    except OSError as error:
        last = error
refused(last)
""",
        verdict=shows_canary,
        death_holds=True,
    ),
    Attack(
        name="find_key_of_the_host",
        threat="secrets in the keyring of the host's user",
        prepare=_host_key,
        script="""
SEARCH, READ, USER, USER_SESSION = 10, 11, -4, -5
for ring in (USER, USER_SESSION, -3, -2, -1):
    try:
        key = call(250, SEARCH, ring, b"user", ("ludus-" + P["token"]).encode(), 0)
        buffer = ctypes.create_string_buffer(100)
        call(250, READ, key, buffer, 100)
        broke(buffer.value.decode())
    except OSError as error:
        last = error
refused(last)
""",
        verdict=shows_canary,
        death_holds=True,
    ),
)
