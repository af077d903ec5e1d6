"""What a process shares with those it forks, or does not: threads, workers, sandboxes.

Native threads stay behind when a process forks; what waits for them there waits forever. Workers
and sandboxes answer whoever asks; if two processes ask, each takes the other's answers.
"""

from __future__ import annotations

import os

from ludus.errors import Error

__all__ = ["THREADS", "WORKERS", "refuse_after_fork"]

THREADS = "its threads are not in this one"
WORKERS = "its workers answer that one only"


def refuse_after_fork(owner: object, maker: int, why: str = THREADS) -> None:
    """Refuse to use a batch in another process than ``maker``, which built it.

    Raises:
        Error: This is another process.
    """
    if os.getpid() != maker:
        raise Error(
            f"{owner} was built in process {maker}, and {why}. Build another here, or use "
            'vectorization_mode="sync", which has no threads and no workers.'
        )
