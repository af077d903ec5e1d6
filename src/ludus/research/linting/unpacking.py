"""Unpacks files of a workspace: compressed ones, archives, base64 and hexadecimal text.

Whatever a file unpacks to, all of it together has at most :data:`LARGEST` bytes, in at most
:data:`DEEPEST` layers and :data:`MOST` members. What is beyond that is a problem that is reported.
"""

from __future__ import annotations

import base64
import binascii
import bz2
import io
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Protocol

__all__ = ["Content", "unpacked"]

LARGEST = 256 << 20
DEEPEST = 4
MOST = 1000

_SHORTEST = 24
"""Characters from which on a text may be encoded bytes."""
_TAR = 257
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]+={0,2}")
_HEX = re.compile(rb"(?:[0-9a-f]{2})+|(?:[0-9A-F]{2})+")


@dataclass(frozen=True, slots=True)
class Content:
    """A file, or what it unpacks to.

    Attributes:
        name: Its name, without the ending of what it was packed with.
        how: How it was packed, from the outside; empty for the file itself.
        data: The bytes.
        problem: Why it could not be unpacked.
    """

    name: str
    how: tuple[str, ...]
    data: bytes
    problem: str = ""


class _Damaged(Exception):
    """It could not be unpacked."""


class _TooMuch(_Damaged):
    """It would unpack to more than is allowed."""


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


@dataclass(slots=True)
class _Budget:
    """What may still be unpacked."""

    room: int = field(default_factory=lambda: LARGEST)
    members: int = field(default_factory=lambda: MOST)

    def take(self, data: bytes) -> bytes:
        self.room -= len(data)
        self.members -= 1
        if self.room < 0 or self.members < 0:
            raise _TooMuch
        return data


def unpacked(name: str, data: bytes) -> Iterator[Content]:
    """Yield a file, and everything that it unpacks to."""
    yield from _unpacked(Content(name, (), data), _Budget())


def _unpacked(content: Content, budget: _Budget) -> Iterator[Content]:
    yield content
    for packing in _PACKINGS:
        if not packing.matches(content):
            continue
        how = (*content.how, packing.name)
        try:
            if len(how) > DEEPEST:
                raise _TooMuch
            for name, inner in packing.unpack(content, budget):
                yield from _unpacked(Content(name, how, inner), budget)
        except _TooMuch:
            limits = f"{LARGEST >> 20} MiB, {MOST} files or {DEEPEST} layers"
            yield Content(content.name, how, b"", f"It unpacks to more than {limits}.")
        except (*_ERRORS, _Damaged) as problem:
            if not packing.is_guess:
                told = f"It is no whole {packing.name} file: {problem}."
                yield Content(content.name, how, b"", told)


_ERRORS = (
    OSError, EOFError, ValueError, RuntimeError, NotImplementedError, MemoryError,
    zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError, binascii.Error,
)  # fmt: skip
_Members = Iterator[tuple[str, bytes]]


@dataclass(frozen=True, slots=True)
class _Packing:
    """A way to pack bytes.

    Attributes:
        name: For people.
        matches: Whether content looks like it.
        unpack: Yields names and bytes.
        is_guess: Whether other content often looks like it, so that a failure says nothing.
    """

    name: str
    matches: Callable[[Content], bool]
    unpack: Callable[[Content, _Budget], _Members]
    is_guess: bool = False


def _begins(*magic: bytes, endings: tuple[str, ...] = ()) -> Callable[[Content], bool]:
    def matches(content: Content) -> bool:
        return content.data.startswith(magic) or content.name.lower().endswith(endings)

    return matches


def _stream(make: Callable[[], Any], *endings: str) -> Callable[[Content, _Budget], _Members]:
    """Return what unpacks one or more streams, one after the other, to one file."""

    def unpack(content: Content, budget: _Budget) -> _Members:
        parts: list[bytes] = []
        rest = content.data
        while rest and (not parts or rest[:2] == content.data[:2]):
            stream: _Decompressor = make()
            # One byte more than is left shows that there is too much.
            part = stream.decompress(rest, budget.room + 1)
            parts.append(budget.take(part))
            if not stream.eof:
                raise _Damaged("it ends too early")
            rest = stream.unused_data
        name = content.name
        ending = next((end for end in endings if name.lower().endswith(end)), "")
        yield name[: len(name) - len(ending)], b"".join(parts)

    return unpack


def _zip(content: Content, budget: _Budget) -> _Members:
    with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
        for member in archive.infolist():
            if not member.is_dir():
                with archive.open(member) as stream:
                    yield member.filename, budget.take(stream.read(budget.room + 1))


def _tar(content: Content, budget: _Budget) -> _Members:
    with tarfile.open(fileobj=io.BytesIO(content.data), mode="r:") as archive:
        for member in archive:
            if stream := archive.extractfile(member) if member.isreg() else None:
                yield member.name, budget.take(stream.read(budget.room + 1))


def _encoded(pattern: re.Pattern[bytes]) -> Callable[[Content], bool]:
    def matches(content: Content) -> bool:
        lines = content.data.split()
        if not lines or len(content.data) < _SHORTEST:
            return False
        # Wrapped as encoders do it: all lines but the last have the same length.
        if any(len(line) != len(lines[0]) for line in lines[:-1]) or len(lines[-1]) > len(lines[0]):
            return False
        return pattern.fullmatch(b"".join(lines)) is not None

    return matches


def _base64(content: Content, budget: _Budget) -> _Members:
    text = b"".join(content.data.split()).rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
    made = base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)
    yield _stem(content.name), budget.take(made)


def _hex(content: Content, budget: _Budget) -> _Members:
    yield _stem(content.name), budget.take(binascii.unhexlify(b"".join(content.data.split())))


def _stem(name: str) -> str:
    path = PurePosixPath(name)
    return path.stem if path.suffix.lower() in (".b64", ".base64", ".hex", ".txt") else name


def _is_zlib(content: Content) -> bool:
    head = content.data[:2]
    return len(head) == 2 and head[0] & 15 == 8 and int.from_bytes(head, "big") % 31 == 0


_PACKINGS = (
    _Packing(
        "gzip",
        _begins(b"\x1f\x8b", endings=(".gz",)),
        _stream(lambda: zlib.decompressobj(zlib.MAX_WBITS | 16), ".gz"),
    ),
    _Packing(
        "bzip2",
        _begins(b"BZh", endings=(".bz2",)),
        _stream(bz2.BZ2Decompressor, ".bz2"),
    ),
    _Packing(
        "xz",
        _begins(b"\xfd7zXZ\0", endings=(".xz",)),
        _stream(lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=2 * LARGEST), ".xz"),
    ),
    _Packing(
        "lzma",
        _begins(b"\x5d\0\0", endings=(".lzma",)),
        _stream(lambda: lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=2 * LARGEST), ".lzma"),
        is_guess=True,
    ),
    _Packing("zlib", _is_zlib, _stream(zlib.decompressobj, ".zlib", ".z"), is_guess=True),
    _Packing("zip", _begins(b"PK\x03\x04", endings=(".zip", ".npz")), _zip),
    _Packing(
        "tar",
        lambda content: content.data[_TAR : _TAR + 5] == b"ustar" or content.name.endswith(".tar"),
        _tar,
    ),
    _Packing("base64", _encoded(_BASE64), _base64, is_guess=True),
    _Packing("hex", _encoded(_HEX), _hex, is_guess=True),
)
