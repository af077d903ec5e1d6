"""Wheels and sdists, read in memory without unpacking."""

from __future__ import annotations

import hashlib
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

from ludus.audit.limits import AuditError, Limits
from ludus.audit.rules import make_finding
from ludus.audit.target.contract import Kind, Member, Target, is_read, read_metadata
from ludus.audit.target.metadata import Metadata

__all__ = ["open_sdist", "open_wheel"]

_END = 65_557
"""Largest size of a zip's end record, with its comment."""
_ENTRY = 300
"""Limit of the average size of a file's entry in the directory."""
_LONGEST_HEADER = 2**20
_DAMAGE = (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    RuntimeError,
    zlib.error,
    zipfile.BadZipFile,
    tarfile.TarError,
    struct.error,
    MemoryError,
    OverflowError,
)


def open_wheel(path: Path, limits: Limits) -> Target:
    """Read a wheel or another zip file.

    Raises:
        AuditError: The file is not a zip file.
    """
    target = _empty("wheel", path)
    if _directory_size(path) > limits.files * _ENTRY:
        # Listing the entries would create an object for each.
        _bomb(target, f"more than {limits.files} files")
        return target
    try:
        archive = zipfile.ZipFile(path)
    except _DAMAGE as problem:
        raise AuditError(f"{path} is not a readable wheel: {problem}") from problem
    seen: set[str] = set()
    total = 0
    for info in archive.infolist()[: limits.files]:
        kind = stat.S_IFMT(info.external_attr >> 16)
        problems = list(_name_problems(info.orig_filename, seen))
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            problems.append("is a link or a device")
        if info.flag_bits & 1:
            problems.append("is encrypted")
        _report(target, info.filename, problems)
        if info.is_dir() or problems:
            continue
        total += info.file_size
        target.members.append(Member(info.filename, info.file_size, _zip_reader(archive, info)))
    return _finish(target, total, limits)


class _BoundedHeader(tarfile.TarInfo):
    """Rejects large extension headers, which tarfile would read into memory."""

    def _proc_member(self, tarfile_: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _HEADERS and self.size > _LONGEST_HEADER:
            raise tarfile.ReadError(f"a header claims {self.size} bytes")
        found: tarfile.TarInfo = super()._proc_member(tarfile_)  # type: ignore[misc]
        return found


_HEADERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


def open_sdist(path: Path, limits: Limits) -> Target:
    """Read an sdist or another tar file, compressed or not.

    Raises:
        AuditError: The file is not a tar file.
    """
    target = _empty("sdist", path)
    seen: set[str] = set()
    total = count = 0
    try:
        with tarfile.open(path, tarinfo=_BoundedHeader) as archive:
            for info in archive:
                count += 1
                total += max(info.size, 0)
                if count > limits.files or total > limits.total:
                    _bomb(target, f"more than {limits.files} files or {limits.total} bytes")
                    break
                problems = list(_name_problems(info.name, seen))
                if not (info.isreg() or info.isdir()):
                    problems.append("is a link, a device or a pipe")
                _report(target, info.name, problems)
                if info.isreg() and not problems:
                    # Random access to a compressed tar file would decompress it every time.
                    content = _content(archive, info, limits)
                    target.members.append(Member(info.name, info.size, _from_memory(content)))
    except _DAMAGE as problem:
        if not count:
            raise AuditError(f"{path} is not a readable sdist: {problem}") from problem
        _bomb(target, f"damaged after {count} entries: {problem}")
    return _finish(target, total, limits)


def _empty(kind: Kind, path: Path) -> Target:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    name = path.name.partition("-")[0]
    return Target(kind, str(path), Metadata(name), [], sha256=digest)


def _directory_size(path: Path) -> int:
    """Return the size of a zip's directory in bytes."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _END))
        tail = file.read(_END)
    start = tail.rfind(b"PK\5\6")
    if start < 0 or len(tail) - start < 22:
        raise AuditError(f"{path} is not a readable wheel: it has no zip directory.")
    return int.from_bytes(tail[start + 12 : start + 16], "little")


def _name_problems(name: str, seen: set[str]) -> Iterable[str]:
    path = PurePosixPath(name)
    if path.is_absolute() or (len(name) > 1 and name[1] == ":"):
        yield "has an absolute path"
    if ".." in path.parts:
        yield "has a path that leads out of its folder"
    if "\\" in name or not name.isprintable():
        yield "has a name with control characters or backslashes"
    if len(name) > 1000:
        yield "has a name of more than 1000 characters"
    folded = str(path).casefold()
    if folded in seen and not name.endswith("/"):
        yield "has the name of another entry"
    seen.add(folded)


def _report(target: Target, name: str, problems: list[str]) -> None:
    for problem in problems:
        target.findings.append(make_finding("unsafe-archive", name, message=problem))


def _bomb(target: Target, what: str) -> None:
    target.findings.append(make_finding("unsafe-archive", Path(target.location).name, message=what))
    target.incomplete.append(f"the archive: {what}")


def _zip_reader(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[int], bytes]:
    def read(most: int) -> bytes:
        try:
            with archive.open(info) as file:
                return file.read(most)
        except _DAMAGE as problem:
            raise AuditError(f"cannot be unpacked: {problem}") from problem

    return read


def _content(archive: tarfile.TarFile, info: tarfile.TarInfo, limits: Limits) -> bytes:
    file = archive.extractfile(info)
    if file is None or info.size > limits.source or not is_read(info.name):
        return b""
    return file.read(limits.source)


def _from_memory(content: bytes) -> Callable[[int], bytes]:
    return lambda most: content[:most]


def _finish(target: Target, total: int, limits: Limits) -> Target:
    if total > limits.unpacked:
        _bomb(target, f"unpacks to {total} bytes, as it declares")
    suffix = "PKG-INFO" if target.kind == "sdist" else ".dist-info/METADATA"
    found = sorted(
        (member for member in target.members if member.path.endswith(suffix)),
        key=lambda member: member.path.count("/"),
    )
    if not found:
        missing = f"the archive has no {suffix.lstrip('.')}: dependencies are unknown"
        target.metadata = target.metadata.with_problem(missing)
    else:
        target.metadata = read_metadata(found[0], target.metadata.name, limits)
    return target
