"""Memory to share with an untrusted process."""

from __future__ import annotations

import fcntl
import os

from ludus.untrusted.channel.protocol import SHARED_BYTES

__all__ = ["sealed_memory"]

_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


def sealed_memory() -> int:
    """Return a sealed descriptor of memory: shrinking it would kill its readers."""
    descriptor = os.memfd_create("ludus-sandbox", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, SHARED_BYTES)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    return descriptor
