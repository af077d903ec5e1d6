"""What stops an audit."""

from __future__ import annotations

from ludus.errors import Error

__all__ = ["AuditError"]


class AuditError(Error, ValueError):
    """What was to be audited, or the configuration, cannot be found or read."""
