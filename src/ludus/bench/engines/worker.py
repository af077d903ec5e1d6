"""The program of a worker process: takes jobs from one pipe, answers into another.

Called as ``main([READ, WRITE, CONTENT, PARENT])``: the file descriptors of two pipes and of the
file that holds the next job, and the process that the worker must not outlive.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import struct
import sys
from typing import Any, BinaryIO

__all__ = ["LENGTH", "main"]

LENGTH = struct.Struct("<Q")
"""What the pipe carries of a job: its size in bytes."""
_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    """Run jobs until there are no more."""
    read, write, content, parent = (int(text) for text in arguments)
    die_with(parent)
    # Ctrl-C does not reach this process, so only an agent sends this to itself. A handler, unlike
    # ignoring it, is not inherited by what the agent starts.
    signal.signal(signal.SIGINT, lambda *_: None)
    for descriptor in (read, write, content):
        # What an agent starts must not keep the pipes open after this process.
        os.set_inheritable(descriptor, False)
    from cloudpickle import loads

    from ludus.bench.faults import one_line
    from ludus.errors import InfrastructureFailed

    with os.fdopen(read, "rb") as jobs, os.fdopen(write, "wb", buffering=0) as answers:
        while (payload := _next(jobs, content)) is not None:
            # The bytes were written by the process that started this one.
            sys.path[:], pickled = loads(payload)
            job = loads(pickled)
            try:
                result = job.execute(on_playing=lambda: _tell(answers, playing=True))
                _tell(answers, result=result.to_dict())
            except InfrastructureFailed as fault:
                _tell(answers, fault=str(fault))
            except Exception as problem:  # whatever it is, the job must come back
                _tell(answers, fault=one_line(problem))
    return 0


def die_with(parent: int) -> None:
    """Let the kernel end this process when its parent ends, however that happens."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the kernel was asked
        os._exit(1)


def _next(jobs: BinaryIO, content: int) -> bytes | None:
    header = jobs.read(LENGTH.size)
    if len(header) < LENGTH.size:
        return None
    with open(content, "rb", closefd=False) as file:
        file.seek(0)
        return file.read(LENGTH.unpack(header)[0])


def _tell(answers: Any, **message: Any) -> None:
    data = memoryview(json.dumps(message).encode() + b"\n")
    while data:
        data = data[answers.write(data) :]
