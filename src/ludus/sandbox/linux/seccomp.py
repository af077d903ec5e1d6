"""The seccomp filter of a sandbox: an allow-list of system calls with argument checks.

The program is the classic BPF that ``bwrap --seccomp`` loads. A call that is not allowed fails with
EPERM, one that is newer than the table with ENOSYS, so that programs fall back. Only a foreign
instruction set is fatal.
"""

from __future__ import annotations

import errno
import os
import signal
import struct
from collections.abc import Iterable
from functools import cache
from typing import Any

from ludus.sandbox.linux.syscall_table import ALLOWED, FILTERED, HIGHEST, numbers
from ludus.sandbox.policy import Network

__all__ = ["Program", "engine_profile", "evaluate", "program"]

Program = tuple[tuple[int, int, int, int], ...]
"""Instructions: code, jump if true, jump if false, constant."""

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _JUMP, _RETURN = 0x20, 0x05, 0x06
_EQUAL, _GREATER, _AT_LEAST, _BITS = 0x15, 0x25, 0x35, 0x45
_NUMBER, _ARCH, _ARGS = 0, 4, 16
_X32 = 0x40000000
# Every namespace flag of clone; CLONE_NEWTIME lies in the bits of the exit signal.
_NAMESPACES = 0x7E020000
_CLONE_FILES, _CLONE_THREAD = 0x400, 0x10000
_F_SETSIG, _F_OFD_SETLK, _F_OFD_SETLKW = 10, 37, 38
_TIOCSTI, _TIOCLINUX, _TIOCSETD = 0x5412, 0x541C, 0x5423
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_VMA = 1, 22, 0x53564D41
_SOL_IP, _SOL_SOCKET, _SOL_TCP, _SOL_IPV6 = 0, 1, 6, 41
_ATTACH_FILTERS = [26, 50, 51, 52]
# Options for which the kernel allocates memory that it charges to nobody: keys of TCP (MD5, AO),
# memberships in multicast groups, obsolete packet options, flow labels.
_JOIN_GROUP = [42, 43, 46, 48]
_HOARDS = {
    _SOL_IP: [35, 38, 39, 41, *_JOIN_GROUP],
    _SOL_TCP: [14, 32, 38],
    _SOL_IPV6: [6, 20, 27, 32, *_JOIN_GROUP],
}
_RWF_NOWAIT = 0x8
_RLIMIT_CORE = 4
_MAP_HUGETLB, _MFD_HUGETLB, _SHM_HUGETLB = 0x40000, 0x4, 0o4000

Instruction = tuple[int, int, int, int]


@cache
def program(
    network: Network,
    machine: str | None = None,
    *,
    netlink: bool = False,
    unsupported: tuple[str, ...] = (),
) -> bytes:
    """Return the filter in the kernel's binary form.

    Args:
        network: decides which socket families are allowed.
        machine: ``"x86_64"`` or ``"aarch64"``; this machine's by default.
        netlink: also allow netlink sockets, which list interfaces, and the socket options in
            ``_HOARDS``. The kernel charges nobody for their memory, so they are refused where
            memory is limited.
        unsupported: calls that fail as on a file system that lacks them.

    Raises:
        KeyError: there is no table for the machine.
    """
    made = assemble(network, machine or os.uname().machine, unsupported, netlink=netlink)
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in made)


def engine_profile(machine: str | None = None) -> dict[str, Any]:
    """Return the allow-list as a profile for container engines, for their sleeping program.

    Of the calls whose arguments are checked, it has only those that a profile can express.
    """
    machine = machine or os.uname().machine
    threads = {"index": 0, "value": _NAMESPACES, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
    allowed = [*sorted(numbers(ALLOWED, machine)), "fcntl", "mmap", "prctl", "prlimit64"]
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": errno.EPERM,
        "architectures": [f"SCMP_ARCH_{machine.upper()}"],
        "syscalls": [
            {"names": allowed, "action": "SCMP_ACT_ALLOW"},
            {"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [threads]},
            {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": errno.ENOSYS},
        ],
    }


def assemble(
    network: Network, machine: str, unsupported: tuple[str, ...] = (), *, netlink: bool = False
) -> Program:
    """Return the filter's instructions."""
    checked = numbers(FILTERED, machine)
    made: list[Instruction] = [
        _load(_ARCH),
        (_EQUAL, 1, 0, _AUDIT[machine]),
        _return(_KILL),
        _load(_NUMBER),
    ]
    if machine == "x86_64":
        made += [(_AT_LEAST, 0, 1, _X32), _refuse(errno.ENOSYS)]
    for name, number in checked.items():
        block = _checks(network, netlink=netlink)[name]
        made += [(_EQUAL, 0, len(block), number), *block]
    for name in unsupported:
        number = numbers(ALLOWED, machine)[name]
        made += [(_EQUAL, 0, 1, number), _refuse(errno.EOPNOTSUPP)]
    made += _search(_ranges(numbers(ALLOWED, machine).values()))
    made += [(_GREATER, 0, 1, HIGHEST), _refuse(errno.ENOSYS), _refuse(errno.EPERM)]
    return tuple(made)


def _checks(network: Network, *, netlink: bool) -> dict[str, list[Instruction]]:
    """Return, by name, the code that decides on a call; each ends every path with a return."""
    return {**_processes(), **_memory(), **_sockets(network, netlink=netlink)}


def _processes() -> dict[str, list[Instruction]]:
    return {
        "clone": [
            _argument(0),
            (_BITS, 0, 1, _NAMESPACES),
            _refuse(errno.EPERM),
            # A process that shares its descriptors but is no thread keeps the locks of one that
            # has ended, whose owner would be unknown: see uncharged_memory.
            (_BITS, 0, 2, _CLONE_FILES),
            (_BITS, 1, 0, _CLONE_THREAD),
            _refuse(errno.EPERM),
            _return(_ALLOW),
        ],
        # A filter cannot read its flags, which lie in memory; the C library falls back to clone.
        "clone3": [_refuse(errno.ENOSYS)],
        # Locks of open files have no process to blame for them. Programs take those of processes
        # instead, as on kernels that lack these.
        "fcntl": [
            _argument(1),
            *_refuse_if_equal([_F_OFD_SETLK, _F_OFD_SETLKW], errno.EINVAL),
            # A descriptor must not continue a process that the host has stopped.
            *_allow_unless_equal(_F_SETSIG),
            _argument(2),
            *_refuse_if_equal([signal.SIGCONT], errno.EINVAL),
            _return(_ALLOW),
        ],
        "ioctl": [
            _argument(1),
            *_refuse_if_equal([_TIOCSTI, _TIOCLINUX, _TIOCSETD], errno.EPERM),
            _return(_ALLOW),
        ],
        "personality": [
            _argument(0),
            *_allow_if_equal([0, 0xFFFFFFFF]),
            _refuse(errno.EPERM),
        ],
        # The launcher's death signal must stay: the call is answered with success and not made.
        # Further filters, and names of memory, take memory that is charged to nobody.
        "prctl": [
            _argument(0),
            *_refuse_if_equal([_PR_SET_PDEATHSIG], 0),
            *_refuse_if_equal([_PR_SET_SECCOMP], errno.EPERM),
            *_refuse_if_equal([_PR_SET_VMA], errno.EINVAL),
            _return(_ALLOW),
        ],
        # Only a limit of one byte keeps a host from running its own program on a core dump. The
        # limit may be asked for; what is to set it is answered with success and not made.
        "prlimit64": [
            _argument(1),
            *_allow_unless_equal(_RLIMIT_CORE),
            _argument(2),
            (_EQUAL, 1, 0, 0),
            _refuse(0),
            _argument(2, high=True),
            *_allow_if_equal([0]),
            _refuse(0),
        ],
        "setrlimit": [_argument(0), *_allow_unless_equal(_RLIMIT_CORE), _refuse(0)],
    }


def _memory() -> dict[str, list[Instruction]]:
    # Huge pages are reserved by the host for others, and are not charged to a sandbox.
    huge = {
        "memfd_create": (1, _MFD_HUGETLB, errno.EINVAL),
        "mmap": (3, _MAP_HUGETLB, errno.ENOMEM),
        "shmget": (2, _SHM_HUGETLB, errno.EPERM),
        # Reading only cached pages would reveal which pages of shared files are cached.
        "preadv2": (5, _RWF_NOWAIT, errno.EOPNOTSUPP),
    }
    return {
        # Which pages of shared files are in memory would be a message to other sandboxes. Advice
        # may be ignored, so it is answered with success and not taken.
        "fadvise64": [_refuse(0)],
        "readahead": [_refuse(0)],
        # The kernel charges nobody for access control lists, up to 64 KB per file, and a filter
        # does not see which attribute is set.
        **{name: [_refuse(errno.EOPNOTSUPP)] for name in ("fsetxattr", "lsetxattr", "setxattr")},
        **{
            name: [_argument(index), (_BITS, 0, 1, flag), _refuse(number), _return(_ALLOW)]
            for name, (index, flag, number) in huge.items()
        },
    }


def _sockets(network: Network, *, netlink: bool) -> dict[str, list[Instruction]]:
    families = [_AF_UNIX] if network == "none" else [_AF_UNIX, _AF_INET, _AF_INET6]
    sockets = [_argument(0), *_allow_if_equal(families)]
    if network != "none" and netlink:
        # Netlink of the routing family only: it is what lists interfaces and addresses.
        sockets += [(_EQUAL, 1, 0, _AF_NETLINK), _refuse(errno.EAFNOSUPPORT)]
        sockets += [_argument(2), *_allow_if_equal([0])]
    sockets.append(_refuse(errno.EAFNOSUPPORT))
    # Compiled socket filters take memory that is charged to nobody.
    refused = {_SOL_SOCKET: _ATTACH_FILTERS, **({} if netlink else _HOARDS)}
    options = [_argument(1)]
    for level, numbers_of in refused.items():
        block = [_argument(2), *_refuse_if_equal(numbers_of, errno.EPERM), _return(_ALLOW)]
        options += [(_EQUAL, 0, len(block), level), *block]
    return {
        "socket": sockets,
        "socketpair": [
            _argument(0),
            *_allow_if_equal([_AF_UNIX]),
            _refuse(errno.EAFNOSUPPORT),
        ],
        "setsockopt": [*options, _return(_ALLOW)],
    }


# Placeholder for "not allowed": a jump whose distance is known once the search is complete.
_FALL: Instruction = (_JUMP, 0, 0, 0xFFFFFFFF)


def _search(ranges: list[tuple[int, int]]) -> list[Instruction]:
    """Return a binary search that allows the numbers in ``ranges``, and else falls through."""
    flat = _branch(ranges)
    last = len(flat) - 1
    return [
        (_JUMP, 0, 0, last - position) if code == _FALL else code
        for position, code in enumerate(flat)
    ]


def _branch(ranges: list[tuple[int, int]]) -> list[Instruction]:
    if len(ranges) == 1:
        low, high = ranges[0]
        # low <= number <= high: allow; else fall.
        return [(_AT_LEAST, 0, 2, low), (_GREATER, 1, 0, high), _return(_ALLOW), _FALL]
    middle = len(ranges) // 2
    left, right = _branch(ranges[:middle]), _branch(ranges[middle:])
    # A conditional jump reaches 255 instructions only, an unconditional one any distance.
    return [(_AT_LEAST, 0, 1, ranges[middle][0]), (_JUMP, 0, 0, len(left)), *left, *right]


def _ranges(values: Iterable[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for value in sorted(values):
        if found and value == found[-1][1] + 1:
            found[-1] = (found[-1][0], value)
        else:
            found.append((value, value))
    return found


def _load(offset: int) -> Instruction:
    return (_LOAD, 0, 0, offset)


def _argument(index: int, *, high: bool = False) -> Instruction:
    """Load half of an argument, the low one where the kernel itself takes a 32-bit number."""
    return _load(_ARGS + 8 * index + 4 * high)


def _return(value: int) -> Instruction:
    return (_RETURN, 0, 0, value)


def _refuse(number: int) -> Instruction:
    return _return(_ERRNO | number)


def _allow_if_equal(values: list[int]) -> list[Instruction]:
    return [code for v in values for code in ((_EQUAL, 0, 1, v), _return(_ALLOW))]


def _allow_unless_equal(value: int) -> list[Instruction]:
    return [(_EQUAL, 1, 0, value), _return(_ALLOW)]


def _refuse_if_equal(values: list[int], number: int) -> list[Instruction]:
    return [code for v in values for code in ((_EQUAL, 0, 1, v), _refuse(number))]


def evaluate(made: Program, machine: str, number: int, *args: int) -> int:
    """Return what a filter decides on a call, as the kernel would; for tests and for doubt."""
    data = struct.pack("=II Q 6Q", number, _AUDIT[machine], 0, *(*args, *[0] * (6 - len(args))))
    position = accumulator = 0
    while True:
        code, yes, no, constant = made[position]
        position += 1
        if code == _RETURN:
            return constant
        if code == _LOAD:
            accumulator = struct.unpack_from("=I", data, constant)[0]
        elif code == _JUMP:
            position += constant
        else:
            met = {
                _EQUAL: accumulator == constant,
                _GREATER: accumulator > constant,
                _AT_LEAST: accumulator >= constant,
                _BITS: bool(accumulator & constant),
            }[code]
            position += yes if met else no
