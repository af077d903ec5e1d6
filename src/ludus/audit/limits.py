"""How much of a hostile package is read, and for how long."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]

_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one audit; what lies beyond is a finding, never silence."""

    files: int = 50_000
    """Files of a package; also entries of an archive."""
    source: int = 4 * _MIB
    """Bytes of one source file."""
    total: int = 1024 * _MIB
    """Bytes read out of one package."""
    unpacked: int = 8 * 1024 * _MIB
    """Bytes an archive may claim to unpack to."""
    metadata: int = _MIB
    """Bytes of one metadata file."""
    dependencies: int = 2000
    file_seconds: float = 10.0
    """Time for one source file."""
    scan_seconds: float = 300.0
    """Time for all source files."""
    memory: int = 1536 * _MIB
    """Address space of a process that reads source."""
    failures: int = 10
    """Source files that may break the scanner before the rest is left out."""
    bandit_seconds: float = 240.0
