"""Native threads stay behind when a process forks; what waits for them there waits forever."""

from __future__ import annotations

import os

from ludus.errors import Error

__all__ = ["refuse_after_fork"]


def refuse_after_fork(owner: object, maker: int) -> None:
    """Refuse to use a batch in another process than ``maker``, whose threads step it.

    Raises:
        Error: This is another process.
    """
    if os.getpid() != maker:
        raise Error(
            f"{owner} was built in process {maker}, and its threads are not in this one. Build "
            'another here, or use vectorization_mode="sync", which has no threads.'
        )
