"""The common form of all kinds of packages: metadata and a list of files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from ludus.audit.limits import AuditError, Limits
from ludus.audit.target.metadata import Metadata, from_core_metadata, from_pyproject
from ludus.findings import Finding

__all__ = ["Kind", "Member", "Target", "is_read", "read_metadata"]

Kind = Literal["folder", "wheel", "sdist", "installed", "editable"]


@dataclass(frozen=True, slots=True)
class Member:
    """One regular file; ``read(n)`` returns at most its first ``n`` bytes."""

    path: str
    size: int
    read: Callable[[int], bytes]


@dataclass(slots=True)
class Target:
    """A package to audit.

    ``findings`` are about the archive or folder itself; ``incomplete`` has the reasons why parts of
    it were not read.
    """

    kind: Kind
    location: str
    metadata: Metadata
    members: list[Member]
    findings: list[Finding] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    sha256: str | None = None
    """Hash of the archive."""


_TEXTS = (".cfg", ".pth", ".py", ".pyw", ".toml")


def is_read(path: str) -> bool:
    """Return whether the audit reads the content of a file with this name."""
    name = path.rpartition("/")[2]
    # Scripts, METADATA, PKG-INFO and RECORD have no suffix.
    return name.lower().endswith(_TEXTS) or "." not in name


def read_metadata(member: Member, name: str, limits: Limits) -> Metadata:
    """Read a metadata file, truncated at the limit."""
    read = from_pyproject if member.path.endswith(".toml") else from_core_metadata
    try:
        content = member.read(limits.metadata + 1)
    except AuditError as problem:
        return Metadata(name).with_problem(f"{member.path}: {problem}")
    found = read(content[: limits.metadata], name)
    if len(content) > limits.metadata:
        return found.with_problem(f"{member.path} is too long and was truncated")
    return found
