"""Files with a checksum: a magic number, a version, a length and a hash precede the content.

The hash detects damage by a disk or a transfer. It does not authenticate the writer, so the content
must be read with ``decode``, which accepts untrusted bytes.
"""

from __future__ import annotations

import errno
import hashlib
import os
from struct import Struct

from ludus.atomic import replacing
from ludus.errors import CodecError
from ludus.foreign_files import open_regular

__all__ = ["MARK_BYTES", "read_sealed", "write_sealed"]

MARK_BYTES = 8
_HEADER = Struct(f">{MARK_BYTES}sHQ32s")
_HASHED = MARK_BYTES + 2 + 8


def write_sealed(path: str | os.PathLike[str], mark: bytes, version: int, content: bytes) -> None:
    """Write a file atomically: readers of ``path`` see the old content or the new.

    Args:
        path: The file; an existing one is replaced.
        mark: Magic number of eight bytes.
        version: Version of the content's format.
        content: The content.

    Raises:
        OSError: The file cannot be written; no temporary file remains.
    """
    with replacing(path) as file:
        file.write(_seal(mark, version, content))
        file.write(content)


def read_sealed(
    path: str | os.PathLike[str], mark: bytes, version: int, max_bytes: int
) -> tuple[int, bytes]:
    """Return the version and the content of what :func:`write_sealed` wrote.

    Args:
        path: The file.
        mark: The expected magic number.
        version: The newest format that the caller can read.
        max_bytes: Largest accepted content.

    Raises:
        CodecError: It is another kind of file, a newer version, too large, truncated or damaged;
            the message is a reason that fits after the file's name.
        OSError: It cannot be opened.
    """
    try:
        handle = open_regular(path)
    except OSError as problem:
        if problem.errno != errno.EINVAL:
            raise
        raise CodecError("it is not a regular file") from None
    try:
        header = os.read(handle, _HEADER.size)
        found, length = _check_header(header, os.fstat(handle), mark, version, max_bytes)
        with os.fdopen(handle, "rb", closefd=False) as file:
            content = file.read(length)
    finally:
        os.close(handle)
    if _seal(mark, found, content) != header:
        raise CodecError("it is damaged: the hash of its content is not the one that was written")
    return found, content


def _check_header(
    header: bytes, file: os.stat_result, mark: bytes, version: int, max_bytes: int
) -> tuple[int, int]:
    """Return the format's version and the length of the content."""
    if not header or header[:MARK_BYTES] != mark[: len(header)]:
        raise CodecError(f"it begins with {header[:MARK_BYTES]!r} instead of {mark!r}")
    if len(header) < _HEADER.size:
        raise CodecError(f"it is truncated within its header, after {len(header)} bytes")
    found: int
    length: int
    _, found, length, _ = _HEADER.unpack(header)
    if found > version:
        raise CodecError(
            f"it has format {found}, which is newer than format {version} of this Ludus; upgrade"
        )
    if length > max_bytes:
        raise CodecError(f"it holds {length} bytes; at most {max_bytes} are allowed")
    written = _HEADER.size + length
    if file.st_size != written:
        what = "is truncated" if file.st_size < written else "has bytes appended"
        raise CodecError(f"it {what}: {written} bytes were written, here are {file.st_size}")
    return found, length


def _seal(mark: bytes, version: int, content: bytes) -> bytes:
    start = _HEADER.pack(mark, version, len(content), b"")[:_HASHED]
    checksum = hashlib.sha256(start)
    checksum.update(content)
    return start + checksum.digest()
