"""From a backend's name to a sandbox, and what each backend can do on this machine."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass, field
from functools import cache

from ludus import logger
from ludus.errors import SandboxError, SandboxUnavailable
from ludus.sandbox import leases
from ludus.sandbox.contract import Sandbox
from ludus.sandbox.leases import Record
from ludus.sandbox.linux import uids
from ludus.sandbox.policy import Policy
from ludus.sandbox.results import Enforcement

__all__ = ["BACKENDS", "backend_class", "backends", "doctor", "open_sandbox", "sweep"]

# In order of preference; resolved when used. Those after the bar isolate nothing and are never
# chosen without being named.
ISOLATING = {
    "bubblewrap": "ludus.sandbox.backend.bubblewrap:Bubblewrap",
    "podman": "ludus.sandbox.backend.podman:Podman",
    "docker": "ludus.sandbox.backend.docker:Docker",
    "gvisor": "ludus.sandbox.backend.gvisor:Gvisor",
}
BACKENDS = {**ISOLATING, "process": "ludus.sandbox.backend.unconfined:ProcessSandbox"}


def open_sandbox(
    policy: Policy | None = None,
    *,
    backend: str | None = None,
    workspace: str | os.PathLike[str] | None = None,
    label: str | None = None,
    image: str | None = None,
) -> Sandbox:
    """Open a sandbox.

    The first one of a process runs :func:`sweep` before.

    Args:
        policy: its limits; by default those of :class:`Policy`, or none for ``"process"``.
        backend: ``"bubblewrap"``, ``"podman"``, ``"docker"``, ``"gvisor"``, or ``"process"``, which
            isolates nothing; by default the first isolating one that works here, and has what an
            image or GPUs need.
        workspace: a host folder to use as ``/workspace``; needs ``Policy(disk=None)``.
        label: part of the sandbox's name.
        image: a local image to use as root, with ``"podman"`` or ``"docker"``; by default the root
            is made of the host's folders.

    Raises:
        SandboxUnavailable: the backend, or without a name every one, cannot run here.
        PolicyNotEnforceable: some limits cannot be enforced.
        ImageMissing: the image is not on this machine.
        ValueError: there is no backend of that name, or it has no images.
    """
    gpus = policy is not None and bool(policy.gpus)
    chosen = choose_backend(backend, image=image is not None, gpus=gpus)
    chosen.get_ready()
    _sweep_once(len(leases.left))
    reason = chosen.unavailable()
    if reason is not None:
        raise SandboxUnavailable(f"The {chosen.backend} backend cannot run here. {reason}")
    return chosen(policy or chosen.default_policy(), workspace=workspace, label=label, image=image)


def choose_backend(
    name: str | None = None, *, image: bool = False, gpus: bool = False
) -> type[Sandbox]:
    """Return the class of a backend; without a name, of the first isolating one that works here.

    Args:
        name: its name.
        image: without a name, only those that take images are considered.
        gpus: likewise, those that pass GPUs through.

    Raises:
        ValueError: there is no backend of that name.
        SandboxUnavailable: this installation lacks it; or none works.
    """
    if name is not None:
        return backend_class(name)
    reasons = {}
    for one in ISOLATING:
        reasons[one] = _lacks(one, image=image, gpus=gpus) or _reason(one)
        if reasons[one] is None:
            return backend_class(one)
    listed = "".join(f"\n  {one}: {why}" for one, why in reasons.items())
    trusted = (
        ""
        if image or gpus
        else ("\nFor code you trust, open_sandbox(backend='process') runs it without a sandbox.")
    )
    raise SandboxUnavailable(f"No backend that isolates can run here:{listed}{trusted}")


def backends() -> dict[str, str | None]:
    """Return, by backend, why it cannot run here; ``None`` if it can."""
    return {name: _reason(name) for name in BACKENDS}


def backend_class(name: str) -> type[Sandbox]:
    """Return the class behind a backend's name.

    Raises:
        ValueError: there is none.
        SandboxUnavailable: this installation lacks it.
    """
    if name not in BACKENDS:
        raise ValueError(f"backend is {name!r}; expected one of {', '.join(BACKENDS)}.")
    module, _, attribute = BACKENDS[name].partition(":")
    try:
        loaded: type[Sandbox] = getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError:
        raise SandboxUnavailable(f"This installation has no {name} backend.") from None
    return loaded


def sweep() -> list[str]:
    """Kill and remove what sandboxes of dead owners left, and return the sandboxes' names."""
    return _sweep(wait=True)


def _sweep(*, wait: bool) -> list[str]:
    swept = leases.sweep_with(_reclaim, wait=wait)
    if os.geteuid() == 0:
        uids.release_forgotten()
    return swept


@cache
def _sweep_once(_left: int) -> None:
    """Sweep when a process opens its first sandbox, and its first after each unclean close.

    A failed sweep does not prevent opening.
    """
    try:
        _sweep(wait=False)
    except leases.SweepBusy:
        pass  # somebody is at it
    except (OSError, SandboxError) as problem:
        logger.warn(f"Sandboxes of dead owners could not be removed: {problem}")


def _reclaim(record: Record) -> None:
    name = record.get("backend")
    if name in BACKENDS:
        module = importlib.import_module(BACKENDS[name].partition(":")[0])
        module.reclaim(record)


def _reason(name: str) -> str | None:
    try:
        return backend_class(name).unavailable()
    except SandboxUnavailable as error:
        return str(error)


def _lacks(name: str, *, image: bool, gpus: bool) -> str | None:
    """Return what a backend has not that is needed; ``None`` if it has all."""
    if not (image or gpus):
        return None
    try:
        backend = backend_class(name)
    except SandboxUnavailable as error:
        return str(error)
    if image and not backend.takes_image:
        return "It has no images."
    return "It passes no GPUs through." if gpus and not backend.has_gpus else None


_SHOWN = ("memory", "cpus", "pids", "disk", "tmp", "files", "wall", "network")


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
        lines = [f"  {name}: {self.enforcement[name]}" for name in _SHOWN]
        return "\n".join([head, *lines])


def doctor() -> tuple[Diagnosis, ...]:
    """Return the state of every backend; each prints as a short table."""
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
