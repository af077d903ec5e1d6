"""The submitted files, copied out of an agent's sandbox before they are read."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType

from ludus.errors import (
    SandboxClosed,
    SandboxError,
    SandboxViolation,
    SubmissionRejected,
    TaskError,
)
from ludus.research.task.contract import KINDS, Declared
from ludus.sandbox.contract import Sandbox
from ludus.sandbox.transfer import copying

__all__ = ["OF_THE_HOST", "Artefacts", "collect"]

OF_THE_HOST = (errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC)
"""Numbers of errors with which the host itself fails; no sandbox can bring them about on it."""


@dataclass(frozen=True, slots=True)
class Artefacts:
    """The contents of the submitted files, by their declared paths."""

    files: Mapping[str, bytes]

    def __post_init__(self) -> None:
        object.__setattr__(self, "files", MappingProxyType(dict(self.files)))

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __getitem__(self, path: str) -> bytes:
        return self.files[path]

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(map(len, self.files.values()))

    @property
    def digests(self) -> dict[str, str]:
        """The SHA-256 of each file, in hexadecimal."""
        return {path: hashlib.sha256(data).hexdigest() for path, data in self.files.items()}

    @property
    def lines(self) -> dict[str, int]:
        """The number of lines of each file."""
        return {path: data.count(b"\n") + 1 for path, data in self.files.items()}

    def check(self, declared: Sequence[Declared]) -> None:
        """Check that these are the files that a task declares.

        Raises:
            SubmissionRejected: one is missing, too large, or not declared.
            TaskError: the declaration itself is wrong.
        """
        check_declared(declared)
        limits = {item.path: item.max_bytes for item in declared}
        if missing := sorted(limits.keys() - self.files.keys()):
            raise SubmissionRejected(f"{missing[0]} is missing; the task asks for it.")
        if foreign := sorted(self.files.keys() - limits.keys()):
            raise SubmissionRejected(f"{foreign[0]} is none of the files that the task asks for.")
        for path, data in self.files.items():
            if len(data) > limits[path]:
                raise SubmissionRejected(
                    f"{path} has {len(data):,} bytes; at most {limits[path]:,} are allowed."
                )


def check_declared(declared: Sequence[Declared]) -> None:
    """Check a task's declaration of submitted files.

    Raises:
        TaskError: a path leads elsewhere or occurs twice, or a kind is unknown.
    """
    seen = set()
    for item in declared:
        path = PurePosixPath(item.path)
        if path.is_absolute() or ".." in path.parts or str(path) != item.path or item.path == ".":
            raise TaskError(
                f"submission: the path {item.path!r} is not a plain one below the workspace; write "
                "it without '/' at its beginning and without '.' or '..'."
            )
        if item.path in seen:
            raise TaskError(f"submission: the path {item.path!r} is there twice.")
        if item.kind not in KINDS:
            raise TaskError(f"submission: the kind {item.kind!r} is none of {', '.join(KINDS)}.")
        seen.add(item.path)


def collect(sandbox: Sandbox, declared: Sequence[Declared]) -> Artefacts:
    """Copy the declared files out of an agent's workspace, even while processes run there.

    Raises:
        SubmissionRejected: a file is missing, too large, or not a plain file: links of either kind,
            folders, devices and pipes are refused.
        SandboxError: the sandbox was closed, which is not the agent's fault.
        OSError: the host has no more memory, disk or descriptors, likewise.
        TaskError: the declaration is wrong.
    """
    check_declared(declared)
    return Artefacts({item.path: _copied(sandbox, item) for item in declared})


def _at_most(chunks: Iterator[bytes], limit: int) -> Iterator[bytes]:
    """Yield chunks until there are more than ``limit`` bytes, even if the file grows."""
    for chunk in chunks:
        yield chunk
        limit -= len(chunk)
        if limit < 0:
            return


def _copied(sandbox: Sandbox, item: Declared) -> bytes:
    try:
        with sandbox._in_use():
            root, parts = sandbox._place(item.path)
            for entry in copying.walk(root, parts, limit=item.max_bytes):
                if entry.file is None:
                    raise SubmissionRejected(f"{item.path} is no plain file.")
                if os.fstat(entry.file).st_nlink != 1:
                    raise SubmissionRejected(
                        f"{item.path} has several names (hard links); hand in a copy of it."
                    )
                data = b"".join(_at_most(copying.chunks(entry.file), item.max_bytes))
                if len(data) > item.max_bytes:
                    raise SubmissionRejected(f"{item.path} grew while it was copied.")
                return data
    except SandboxClosed:
        raise
    except SandboxViolation as problem:
        raise SubmissionRejected(
            f"{item.path} cannot be taken: {problem} At most {item.max_bytes:,} bytes of a plain "
            "file are."
        ) from None
    except SandboxError as problem:
        raise SubmissionRejected(f"{item.path} is missing: {problem}") from None
    except OSError as problem:
        if problem.errno in OF_THE_HOST:
            raise
        # Anything else that the agent did to its folders, such as removing all permissions.
        raise SubmissionRejected(f"{item.path} cannot be read: {problem.strerror}.") from None
    raise SubmissionRejected(f"{item.path} vanished while it was copied.")
