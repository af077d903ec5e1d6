"""Memory to share with somebody who is not trusted."""

from __future__ import annotations

import fcntl
import os

from ludus.untrusted.channel.protocol import SHARED_BYTES

__all__ = ["sealed_memory"]

_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


def sealed_memory() -> int:
    """Return a descriptor of memory that nobody can make smaller, which would kill its readers.

    The seals are on it before anybody else sees it.
    """
    descriptor = os.memfd_create("ludus-box", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, SHARED_BYTES)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    return descriptor
