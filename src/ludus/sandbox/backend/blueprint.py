"""What a container engine is to make: the container of one sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ludus.sandbox.backend.gpus import Gpu
from ludus.sandbox.backend.images import Image
from ludus.sandbox.policy import Policy

__all__ = ["SLEEP", "Bind", "Blueprint"]

SLEEP = ("sleep", "2147483647")
"""The only program of a container, which keeps it alive."""


@dataclass(frozen=True, slots=True)
class Bind:
    """A host path shown at ``target``."""

    source: str
    target: str
    writable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    """A container as an engine is to make it.

    Args:
        name: of the container.
        sandbox: the sandbox's name, its label.
        uid: user and group of its program.
        image: its root; ``None`` takes the host's own folders.
        folder: a folder of the host for this container alone.
        binds: host paths shown inside.
        sizes: of its memory file systems, by path; ``None`` has no size of its own.
        policy: limits and network.
        gpus: GPUs that are passed through.
        argv: its only program.
    """

    name: str
    sandbox: str
    uid: int
    image: Image | None
    folder: Path
    binds: tuple[Bind, ...]
    sizes: dict[str, int | None]
    policy: Policy
    gpus: tuple[Gpu, ...] = ()
    argv: tuple[str, ...] = SLEEP

    @property
    def pids(self) -> int | None:
        """Processes of the container: the sleeper and a command's first process count as well."""
        return None if self.policy.pids is None else self.policy.pids + 2
