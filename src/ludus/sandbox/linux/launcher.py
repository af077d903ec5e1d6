"""Starts the commands of a container's sandbox, from a process outside the container.

An engine's ``exec`` takes 60 to 270 ms per command, this a few. It is started once per sandbox and
forks for each command. The fork enters the container's control groups and namespaces, makes a
process namespace for the command, drops all rights, loads the system call filter, and only then
executes a program of the sandbox.

Nothing in the sandbox talks to it, and it reads and executes nothing of the sandbox before the
rights are dropped; all its code is loaded beforehand. When its owner dies the kernel closes the
channel, and it kills the container. It imports only the standard library and ``mounts``,
``syscalls`` and ``exec_command``.

Processes, from the outside: launcher, one keeper per command (waits and reports), the first
process of the command's namespace (reaps orphans), the command.
"""

from __future__ import annotations

import array
import errno
import fcntl
import json
import os
import resource
import signal
import socket
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from ludus.sandbox.linux import mounts, syscalls
from ludus.sandbox.linux.exec_command import FAILED, execute, fail, filter_calls, reap_until

__all__ = ["FAILED", "main", "receive", "send"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PLACE_FLAGS = syscalls.MS_REMOUNT | syscalls.MS_NOSUID | syscalls.MS_NODEV
_PROC_FLAGS = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC
_SCRATCH = "/dev/shm"  # noqa: S108 - the container's
_ONE = array.array("i").itemsize
_MOST = 250
_SPACES = syscalls.CLONE_NEWNS | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS


def send(channel: socket.socket, text: bytes, descriptors: list[int]) -> None:
    """Send a short message with descriptors."""
    packed = array.array("i", descriptors)
    channel.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, packed)] if packed else [])


def receive(channel: socket.socket) -> tuple[bytes, list[int]]:
    """Receive a message of :func:`send`; empty when the other side is gone."""
    text, extra, _, _ = channel.recvmsg(
        4096, socket.CMSG_SPACE(_MOST * _ONE), socket.MSG_CMSG_CLOEXEC
    )
    found = array.array("i")
    for level, kind, data in extra:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            found.frombytes(data[: len(data) - len(data) % _ONE])
    return text, list(found)


def main(channel: socket.socket) -> None:
    """Serve the owner at the other end of ``channel`` until it closes it or dies.

    The first message carries the settings, the container's first process and its control groups;
    the answer carries descriptors of the writable places. Each later message is a command.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    _, descriptors = receive(channel)
    if not descriptors:
        return
    settings = _read(descriptors[0])
    container, doors = descriptors[1], descriptors[2:]
    try:
        _answer_from_inside(channel, container, settings)
        syscalls.enter(container, syscalls.CLONE_NEWPID)
        # Keepers are reaped by the kernel.
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            _, descriptors = receive(channel)
            if not descriptors:
                return
            if os.fork() == 0:
                channel.close()
                _keep(settings, container, doors, descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
    finally:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(container, signal.SIGKILL)


def _answer_from_inside(channel: socket.socket, container: int, settings: dict[str, Any]) -> None:
    """Finish the container from inside, and send descriptors of its writable places."""
    child = os.fork()
    if child == 0:
        try:
            spaces = syscalls.CLONE_NEWNS | (
                syscalls.CLONE_NEWNET if settings["own_network"] else 0
            )
            syscalls.enter(container, spaces)
            _finish(settings)
            send(channel, b"ready", [os.open(place, _FOLDER) for place in settings["places"]])
        except BaseException as error:  # a fork must not return; any error is reported
            channel.send(f"{error}".encode("utf-8", "replace")[:1000])
        os._exit(0)
    os.waitpid(child, 0)


def _finish(settings: dict[str, Any]) -> None:
    """Do to the container's mounts and network what engines have no options for."""
    for target in settings["hidden"]:
        with suppress(OSError):
            syscalls.unmount(target)
    mounts.rearrange(_SCRATCH, settings["shown"])
    for place, options in settings["places"].items():
        if options is None:
            continue  # a folder of the host
        if options:
            syscalls.mount(None, place, None, _PLACE_FLAGS, options)
        os.chown(place, settings["uid"], settings["uid"])
        Path(place).chmod(0o700)
    mounts.limit_terminals("/dev/pts")
    syscalls.restrict_mounts("/", syscalls.ATTR_NOSUID, below=True)
    closed = syscalls.ATTR_RDONLY | syscalls.ATTR_NODEV
    for target in settings["closed"]:
        syscalls.restrict_mounts(target, closed, below=True)
    for target in settings["volumes"]:
        # An image may name folders for which the engine mounts some of the host's.
        with suppress(FileNotFoundError, NotADirectoryError):
            _close_volume(target, closed)
    # An image may have device nodes elsewhere than in /dev, which the engine fills.
    syscalls.restrict_mounts("/", closed, below=False)
    syscalls.restrict_mounts("/dev", syscalls.ATTR_RDONLY, below=False)
    if settings["own_network"]:
        syscalls.set_loopback(up=settings["loopback"])


def _close_volume(target: str, attributes: int) -> None:
    """Close what is mounted at a path, if something is; within what is closed already is enough."""
    try:
        syscalls.restrict_mounts(target, attributes, below=False)
    except OSError as error:
        if error.errno != errno.EINVAL:  # nothing is mounted there
            raise


def _keep(
    settings: dict[str, Any], container: int, doors: list[int], received: list[int]
) -> NoReturn:
    """Start one command, wait for it and report how it ended."""
    payload, control, *streams = received
    report = socket.socket(fileno=control)
    try:
        command = _read(payload)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        syscalls.unshare(syscalls.CLONE_NEWPID)
        first = os.fork()
        if first == 0:
            _begin(settings, command, container, doors, streams)
        send(report, b"started", [os.pidfd_open(first)])
    except BaseException as error:  # a fork must not return; any error is reported
        report.send(f"{error}".encode("utf-8", "replace")[:1000])
        os._exit(FAILED)
    # An open pipe of the command would keep its reader from seeing the end.
    _close_all_but([control])
    _, status, used = os.wait4(first, 0)
    code = os.waitstatus_to_exitcode(status)
    with suppress(OSError):
        report.send(f"{code} {used.ru_utime + used.ru_stime}".encode())
    os._exit(0)


def _begin(
    settings: dict[str, Any],
    command: dict[str, Any],
    container: int,
    doors: list[int],
    streams: list[int],
) -> NoReturn:
    """Become the first process of the command's namespace, without any right."""
    try:
        targets = command["descriptors"]
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, max(targets) + 1) for fd in streams]
        tools = [
            fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, max(high) + 1) for fd in (container, *doors)
        ]
        for descriptor, target in zip(high, targets, strict=True):
            os.dup2(descriptor, target)
        for door in tools[1:]:
            os.write(door, b"0")
        syscalls.enter(
            tools[0], _SPACES | (syscalls.CLONE_NEWNET if settings["own_network"] else 0)
        )
        # Its own mounts, since /proc must show its own processes; its own view of its groups.
        syscalls.unshare(syscalls.CLONE_NEWNS | syscalls.CLONE_NEWCGROUP)
        syscalls.mount(None, "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
        syscalls.mount("proc", "/proc", "proc", _PROC_FLAGS)
        # Counts of the whole host's files, descriptors and names: a channel between sandboxes.
        syscalls.mount("tmpfs", "/proc/sys/fs", "tmpfs", _PROC_FLAGS | syscalls.MS_RDONLY)
        _close_all_but(targets)
        os.setsid()
        os.umask(0o022)
        for limit, value in settings["limits"]:
            resource.setrlimit(limit, (value, value))
        syscalls.forgo_rights(settings["uid"], settings["uid"])
        os.chdir(command["cwd"])
        program = bytes.fromhex(settings["filter"])
        if command["is_shell"]:
            filter_calls(program)
            execute(*_program(command))
        child = os.fork()
        filter_calls(program)
        if child == 0:
            execute(*_program(command))
        os.closerange(0, 1 << 20)
        reap_until(child)
    except BaseException as error:
        # BaseException: after any error this fork must not continue as a launcher.
        fail(f"cannot start: {error}")


def _program(command: dict[str, Any]) -> tuple[list[bytes], dict[bytes, bytes]]:
    variables = {os.fsencode(key): os.fsencode(text) for key, text in command["env"].items()}
    return [os.fsencode(word) for word in command["argv"]], variables


def _close_all_but(kept: list[int]) -> None:
    edges = [-1, *sorted(set(kept)), 1 << 20]
    for low, high in pairwise(edges):
        # An empty range would be taken for one without end.
        if low + 1 < high:
            os.closerange(low + 1, high)


def _read(descriptor: int) -> dict[str, Any]:
    os.lseek(descriptor, 0, os.SEEK_SET)
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        found: dict[str, Any] = json.loads(file.read())
    return found
