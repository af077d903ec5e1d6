from __future__ import annotations

import errno
import struct

import pytest

from ludus.sandbox.linux.seccomp import assemble, engine_profile, evaluate, program
from ludus.sandbox.linux.syscall_table import ALLOWED, FILTERED, HIGHEST, numbers

ALLOW, ERRNO = 0x7FFF0000, 0x50000
MACHINES = ("x86_64", "aarch64")
NETWORKS = ("none", "loopback", "host")


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("network", NETWORKS)
def test_every_number(machine, network):
    made = assemble(network, machine)
    allowed = set(numbers(ALLOWED, machine).values())
    checked = set(numbers(FILTERED, machine).values())
    assert not allowed & checked
    for number in set(range(700)) - checked:
        wanted = ALLOW if number in allowed else ERRNO | (
            errno.ENOSYS if number > HIGHEST else errno.EPERM
        )  # fmt: skip
        assert evaluate(made, machine, number) == wanted, number


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("name", "args", "network", "verdict"),
    [
        ("clone", (0x1200011,), "none", ALLOW),
        ("clone", (0x10000000 | 17,), "none", ERRNO | errno.EPERM),
        ("clone", (0x00020000,), "none", ERRNO | errno.EPERM),
        ("clone", ((1 << 40) | 0x40000000,), "none", ERRNO | errno.EPERM),
        ("clone", (0x3D0F00,), "none", ALLOW),
        ("clone", (0x4111,), "none", ALLOW),
        ("clone", (0x400 | 17,), "none", ERRNO | errno.EPERM),
        ("clone3", (0,), "host", ERRNO | errno.ENOSYS),
        ("fcntl", (0, 6), "none", ALLOW),
        ("fcntl", (0, 1030), "none", ALLOW),
        ("fcntl", (0, 37), "none", ERRNO | errno.EINVAL),
        ("fcntl", (0, (7 << 32) | 38), "none", ERRNO | errno.EINVAL),
        ("fcntl", (0, 10, 10), "none", ALLOW),
        ("fcntl", (0, 10, 18), "none", ERRNO | errno.EINVAL),
        ("fcntl", (0, (7 << 32) | 10, (7 << 32) | 18), "none", ERRNO | errno.EINVAL),
        ("ioctl", (0, 0x5401), "none", ALLOW),
        ("ioctl", (0, 0x5412), "none", ERRNO | errno.EPERM),
        ("ioctl", (0, (7 << 32) | 0x5412), "none", ERRNO | errno.EPERM),
        ("ioctl", (0, 0x541C), "none", ERRNO | errno.EPERM),
        ("personality", (0xFFFFFFFF,), "none", ALLOW),
        ("personality", (0x40000,), "none", ERRNO | errno.EPERM),
        ("prctl", (15,), "none", ALLOW),
        ("prctl", (1, 0), "none", ERRNO),
        ("prctl", (21,), "none", ALLOW),
        ("prctl", (22, 2), "none", ERRNO | errno.EPERM),
        ("prctl", ((7 << 32) | 22, 2), "none", ERRNO | errno.EPERM),
        ("prctl", (0x53564D41, 0), "none", ERRNO | errno.EINVAL),
        ("prlimit64", (0, 7, 0x1000), "none", ALLOW),
        ("prlimit64", (0, 4, 0, 0x1000), "none", ALLOW),
        ("prlimit64", (0, 4, 0x1000), "none", ERRNO),
        ("prlimit64", (0, (7 << 32) | 4, 7 << 32), "none", ERRNO),
        ("setrlimit", (7, 0x1000), "none", ALLOW),
        ("setrlimit", (4, 0x1000), "none", ERRNO),
        ("mmap", (0, 4096, 3, 0x22), "none", ALLOW),
        ("mmap", (0, 4096, 3, 0x40022), "none", ERRNO | errno.ENOMEM),
        ("memfd_create", (0, 1), "none", ALLOW),
        ("memfd_create", (0, 5), "none", ERRNO | errno.EINVAL),
        ("shmget", (0, 4096, 0o1600), "none", ALLOW),
        ("shmget", (0, 4096, 0o5600), "none", ERRNO | errno.EPERM),
        ("preadv2", (3, 0, 1, 0, 0, 0), "none", ALLOW),
        ("preadv2", (3, 0, 1, 0, 0, 1), "none", ALLOW),
        ("preadv2", (3, 0, 1, 0, 0, 9), "none", ERRNO | errno.EOPNOTSUPP),
        ("setsockopt", (3, 1, 7), "none", ALLOW),
        ("setsockopt", (3, 6, 26), "host", ALLOW),
        ("setsockopt", (3, 1, 26), "none", ERRNO | errno.EPERM),
        ("setsockopt", (3, (7 << 32) | 1, (7 << 32) | 52), "host", ERRNO | errno.EPERM),
        ("setsockopt", (3, 6, 1), "host", ALLOW),
        ("setsockopt", (3, 6, 14), "host", ERRNO | errno.EPERM),
        ("setsockopt", (3, 0, 35), "loopback", ERRNO | errno.EPERM),
        ("setsockopt", (3, 41, 6), "loopback", ERRNO | errno.EPERM),
        ("setsockopt", (3, 41, 26), "loopback", ALLOW),
        ("setxattr", (0, 0, 0, 4), "none", ERRNO | errno.EOPNOTSUPP),
        ("fsetxattr", (3, 0, 0, 4), "none", ERRNO | errno.EOPNOTSUPP),
        ("lsetxattr", (0, 0, 0, 4), "none", ERRNO | errno.EOPNOTSUPP),
        ("socket", (1, 1, 0), "none", ALLOW),
        ("socket", (2, 1, 0), "none", ERRNO | errno.EAFNOSUPPORT),
        ("socket", (10, 1, 0), "none", ERRNO | errno.EAFNOSUPPORT),
        ("socket", (16, 3, 0), "none", ERRNO | errno.EAFNOSUPPORT),
        ("socket", (2, 1, 0), "loopback", ALLOW),
        ("socket", (16, 3, 0), "loopback", ERRNO | errno.EAFNOSUPPORT),
        ("socket", (16, 3, 9), "loopback", ERRNO | errno.EAFNOSUPPORT),
        ("socket", (38, 5, 0), "host", ERRNO | errno.EAFNOSUPPORT),
        ("socket", (17, 3, 0), "host", ERRNO | errno.EAFNOSUPPORT),
        ("socketpair", (1, 1, 0), "none", ALLOW),
        ("socketpair", (2, 1, 0), "host", ERRNO | errno.EAFNOSUPPORT),
    ],
)
def test_arguments(machine, name, args, network, verdict):
    number = numbers(FILTERED, machine)[name]
    assert evaluate(assemble(network, machine), machine, number, *args) == verdict


def test_foreign_instruction_sets_are_fatal():
    made = assemble("none", "x86_64")
    assert evaluate(made, "aarch64", 0) == 0x80000000
    assert evaluate(made, "x86_64", 0x40000000 | 1) == ERRNO | errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_it_fits_the_kernel(machine):
    made = assemble("host", machine)
    assert len(made) < 4096
    jumps = [(p, i) for p, i in enumerate(made) if i[0] not in (0x06, 0x20)]
    assert all(p + 1 + max(i[1], i[2], i[3] if i[0] == 0x05 else 0) < len(made) for p, i in jumps)
    assert all(0 <= i[1] <= 255 and 0 <= i[2] <= 255 for i in made)
    assert len(program("host", machine)) == len(made) * struct.calcsize("=HBBI")


def test_tables_name_the_same_dangers_everywhere():
    for machine in MACHINES:
        names = {*numbers(ALLOWED, machine), *numbers(FILTERED, machine)}
        assert not names & {
            "mount", "umount2", "pivot_root", "chroot", "setns", "unshare", "ptrace", "bpf",
            "process_vm_readv", "process_vm_writev", "kexec_load", "init_module", "io_uring_setup",
            "perf_event_open", "userfaultfd", "open_by_handle_at", "add_key", "keyctl",
            "move_mount", "fsopen", "pidfd_getfd", "clock_settime", "swapon", "reboot",
        }  # fmt: skip


def test_unknown_machine():
    with pytest.raises(KeyError):
        program("none", "sparc")


def test_engines_get_no_more_than_boxes():
    """What an engine's profile allows without a condition, a box's filter allows as well."""
    profile = engine_profile("x86_64")
    made = assemble("none", "x86_64")
    known = {**numbers(ALLOWED, "x86_64"), **numbers(FILTERED, "x86_64")}
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    for name in profile["syscalls"][0]["names"]:
        assert evaluate(made, "x86_64", known[name]) == ALLOW, name


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_calls_that_are_said_to_be_unsupported(machine):
    made = assemble("none", machine, ("lgetxattr",))
    table = numbers(ALLOWED, machine)
    assert evaluate(made, machine, table["lgetxattr"]) & 0xFFFF == errno.EOPNOTSUPP
    assert evaluate(made, machine, table["getxattr"]) == 0x7FFF0000


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("network", "family", "verdict"),
    [
        ("loopback", 0, ALLOW),
        ("loopback", 9, ERRNO | errno.EAFNOSUPPORT),
        ("none", 0, ERRNO | errno.EAFNOSUPPORT),
    ],
)
def test_netlink_lists_interfaces_where_memory_is_not_limited(machine, network, family, verdict):
    made = assemble(network, machine, netlink=True)
    number = numbers(FILTERED, machine)["socket"]
    assert evaluate(made, machine, number, 16, 3, family) == verdict


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("level", "option"), [(6, 14), (0, 35), (41, 6), (41, 42)])
def test_options_that_hoard_are_allowed_where_memory_is_not_limited(machine, level, option):
    made = assemble("loopback", machine, netlink=True)
    assert (
        evaluate(made, machine, numbers(FILTERED, machine)["setsockopt"], 3, level, option) == ALLOW
    )
