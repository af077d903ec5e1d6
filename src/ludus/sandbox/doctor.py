"""What each backend can do on this machine, and what would make it do more."""

from __future__ import annotations

from dataclasses import dataclass, field

from ludus.errors import SandboxUnavailable
from ludus.sandbox.results import Enforcement

__all__ = ["Diagnosis", "doctor"]

_FIELDS = ("memory", "cpus", "pids", "disk", "tmp", "files", "wall", "network")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Whether one backend works here.

    Attributes:
        backend: its name.
        reason: why it cannot run, with the next step; ``None`` if it can.
        enforcement: which limits it enforces.
    """

    backend: str
    reason: str | None
    enforcement: Enforcement = field(default_factory=Enforcement)

    @property
    def works(self) -> bool:
        """Whether sandboxes of this backend can be opened."""
        return self.reason is None

    def __str__(self) -> str:
        head = f"{self.backend}: {'works' if self.works else f'cannot run. {self.reason}'}"
        if not self.works:
            return head
        lines = [f"  {name}: {self.enforcement[name]}" for name in _FIELDS]
        return "\n".join([head, *lines])


def doctor() -> tuple[Diagnosis, ...]:
    """Return the state of every backend; each prints as a short table."""
    from ludus.sandbox.opening import BACKENDS, backend_class

    found = []
    for name in BACKENDS:
        try:
            backend = backend_class(name)
        except SandboxUnavailable as error:
            found.append(Diagnosis(name, str(error)))
            continue
        reason = backend.unavailable()
        enforcement = backend.enforcement() if reason is None else Enforcement()
        found.append(Diagnosis(name, reason, enforcement))
    return tuple(found)
