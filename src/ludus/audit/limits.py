"""Limits of an audit, and its exception."""

from __future__ import annotations

from dataclasses import dataclass

from ludus.errors import Error

__all__ = ["AuditError", "Limits"]

_MIB = 2**20


class AuditError(Error, ValueError):
    """The package to audit, or the configuration, cannot be found or read."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one audit; exceeding one is reported as a finding."""

    files: int = 50_000
    """Number of files in a package or entries in an archive."""
    source: int = 4 * _MIB
    """Bytes of one source file."""
    total: int = 1024 * _MIB
    """Bytes read from one package."""
    unpacked: int = 8 * 1024 * _MIB
    """Bytes of an unpacked archive, as declared by it."""
    metadata: int = _MIB
    """Bytes of one metadata file."""
    dependencies: int = 2000
    file_seconds: float = 10.0
    """Seconds for one source file."""
    scan_seconds: float = 300.0
    """Seconds for all source files."""
    memory: int = 1536 * _MIB
    """Bytes of address space of the process that parses source files."""
    failures: int = 10
    """Number of source files that may crash the scanner before it stops."""
    bandit_seconds: float = 240.0
