"""The last steps before a command of a sandbox: load the filter, exec the program, reap orphans.

The launcher runs this code on its way into a container. With gVisor, whose kernel cannot be entered
from outside, this file is shown to the sandbox and runs there as its first program, as the
sandbox's user. It imports little, since every file that it opens there takes time.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

__all__ = ["FAILED", "execute", "fail", "filter_calls", "main", "reap_until"]

FAILED = 125
"""Status of a command that could not be set up."""

_GO_ON = (errno.ENOENT, errno.ENOTDIR, errno.EACCES)
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, _PR_SET_NO_NEW_PRIVS = 22, 2, 38


def main(words: Sequence[str]) -> NoReturn:
    """Run a command under a filter, as the first process of a namespace.

    Args:
        words: path of the filter; ``shell`` if the program itself becomes the first process; a
            folder; the number of variables; the variables; the program and its arguments. All but
            the path are bytes, each written as the character of its number.
    """
    try:
        with open(words[0], "rb") as file:  # noqa: PTH123 - pathlib takes long to import
            program = file.read()
        kind, folder, count, *rest = (word.encode("latin-1") for word in words[1:])
        variables = dict(word.split(b"=", 1) for word in rest[: int(count)])
        argv = rest[int(count) :]
        os.umask(0o022)
        os.chdir(folder)
        child = 0 if kind == b"shell" else os.fork()
        filter_calls(program)
        if child == 0:
            execute(argv, variables)
        for descriptor in range(3):
            os.close(descriptor)
        reap_until(child)
    except BaseException as error:  # it must never return; any error is reported
        fail(f"cannot start: {error}")


def filter_calls(program: bytes) -> None:
    """Load a seccomp filter for the calling thread and all that it starts."""
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    kept = ctypes.create_string_buffer(head, len(head))
    for option, *values in (
        (_PR_SET_NO_NEW_PRIVS, 1, 0),
        (_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(kept)),
    ):
        made = [ctypes.c_ulong(value) for value in (*values, 0, 0)]
        if libc.prctl(ctypes.c_int(option), *made) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), "prctl")


def reap_until(child: int) -> NoReturn:
    """Reap every orphan; end with the command, and with it everything in the namespace."""
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def execute(argv: list[bytes], variables: Mapping[bytes, bytes]) -> NoReturn:
    """Become a program, found by the ``PATH`` among its own variables."""
    name, why = argv[0], errno.ENOENT
    paths = variables.get(b"PATH", b"").split(b":")
    for folder in [b""] if b"/" in name else [path + b"/" for path in paths]:
        try:
            os.execve(folder + name, argv, variables)  # noqa: S606 - what this is for
        except OSError as error:
            why = error.errno if error.errno not in (None, errno.ENOENT) else why
            if error.errno not in _GO_ON:
                break
    text = f"{os.fsdecode(name)}: {os.strerror(why)}"
    fail(text, 126 if why != errno.ENOENT else 127)


def fail(text: str, status: int = FAILED) -> NoReturn:
    """End with a message."""
    try:
        os.write(2, f"ludus: {text}\n".encode("utf-8", "surrogateescape"))
    finally:
        os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1:])
