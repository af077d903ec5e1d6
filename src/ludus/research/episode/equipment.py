"""What the sandboxes of a task have beyond this machine's folders: an image and GPUs.

It is found before an episode begins, and what is missing is refused then. The grader's sandbox has
neither: it holds the labels, and decides the score with this machine's packages alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from ludus.errors import PolicyNotEnforceable, SandboxUnavailable
from ludus.research.images.task_image import TaskImage, examined, find_task_image
from ludus.research.task.task import Task
from ludus.sandbox.backend.containers import ContainerSandbox
from ludus.sandbox.backend.gpus import CDI_FOLDERS, Gpu, cdi_gpus, device_nodes, reserve
from ludus.sandbox.opening import choose_backend

__all__ = ["NONE", "Equipment", "find_equipment", "gpus_here", "reserved_gpus", "wanted_gpus"]

Gpus = int | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Equipment:
    """What was found.

    Attributes:
        backend: Of all sandboxes of the episode; ``None`` for the first that works.
        image: Of the agent's and of the submission's sandbox.
        gpus: Number or names of the agent's.
        submission_gpus: Number of the submission's.
    """

    backend: str | None = None
    image: TaskImage | None = None
    gpus: Gpus = 0
    submission_gpus: int = 0

    def examined(self, task: Task, overrides: Mapping[str, Any] | None = None) -> Equipment:
        """Return the same after a look into the image, which says what is to be covered in it.

        Args:
            task: The task.
            overrides: Memory and processors instead of the task's own.

        Raises:
            TaskError: The task cannot run in the image.
            SandboxError: No sandbox can be opened in it.
        """
        if self.image is None:
            return self
        resources = task.config.resources
        limits = {"memory": resources.memory, "cpus": resources.cpu, **(overrides or {})}
        return replace(self, image=examined(self.image, task, (limits["memory"], limits["cpus"])))


NONE = Equipment()


def find_equipment(
    task: Task,
    *,
    backend: str | None = None,
    gpus: Gpus | None = None,
    without_image: bool = False,
    digest: str | None = None,
    to_grade: bool = False,
) -> Equipment:
    """Return what a task needs, which is here.

    Args:
        task: The task.
        backend: Of the sandboxes; by default the first that works and can do it.
        gpus: Number or names instead of the task's own; 0 does without.
        without_image: Run in this machine's folders, whatever image the task names.
        digest: What the image must have.
        to_grade: Do without the agent's GPUs.

    Raises:
        ImageMissing: The image is not on this machine.
        PolicyNotEnforceable: The backend has no images, or passes no GPUs through; or there are
            too few.
        SandboxUnavailable: No backend that can do it works here.
        TaskError: The image has another digest.
    """
    agent, submission = wanted_gpus(task, gpus)
    agent = 0 if to_grade else agent
    if agent or submission:
        _require_gpus(task, agent, submission, backend)
    image = None if without_image else find_task_image(task, backend, digest=digest)
    if image is not None:
        backend = image.backend
    elif agent or submission:
        backend = choose_backend(backend, gpus=True).backend
    return Equipment(backend, image, agent, submission)


@contextmanager
def reserved_gpus(equipment: Equipment) -> Iterator[tuple[Equipment, list[dict[str, str]]]]:
    """Choose the agent's GPUs for a block; yield the equipment with their names, and what they are.

    Raises:
        PolicyNotEnforceable: There are too few.
    """
    if not equipment.gpus:
        yield equipment, []
        return
    reservation = reserve(equipment.gpus, gpus_here(equipment.backend))
    try:
        told = [gpu.described() for gpu in reservation.gpus]
        yield replace(equipment, gpus=reservation.names), told
    finally:
        reservation.close()


def wanted_gpus(task: Task, gpus: Gpus | None) -> tuple[Gpus, int]:
    """Return the GPUs of the agent's and of the submission's sandbox; 0 asks for none in either."""
    resources = task.config.resources
    if gpus is None:
        return resources.gpu, resources.submission_gpu
    return gpus, resources.submission_gpu if gpus else 0


def gpus_here(backend: str | None = None) -> tuple[Gpu, ...]:
    """Return the GPUs that a backend can pass through.

    Raises:
        PolicyNotEnforceable: There are none; ``reasons["gpus"]`` says why, and what to do.
        SandboxUnavailable: No backend that can do it works here.
    """
    nodes = ", ".join(device_nodes())
    if backend is None and not nodes and not cdi_gpus():
        places = " or ".join(CDI_FOLDERS)
        raise _refusal(
            f"this machine has none: no device file such as /dev/nvidia0, no CDI file in {places}."
        )
    chosen = choose_backend(backend, gpus=True)
    if not issubclass(chosen, ContainerSandbox):
        raise _refusal(
            f"the {chosen.backend} backend passes none through (this machine has "
            f"{nodes or 'none anyway'}). Required is --backend podman or --backend docker."
        )
    if (reason := chosen.unavailable()) is not None:
        raise SandboxUnavailable(f"the {chosen.backend} backend cannot run here. {reason}")
    return chosen.find_gpus()


def _refusal(why: str) -> PolicyNotEnforceable:
    return PolicyNotEnforceable(f"No GPU can be passed through: {why}", reasons={"gpus": why})


def _require_gpus(task: Task, agent: Gpus, submission: int, backend: str | None) -> None:
    """Refuse a task whose GPUs are not here."""
    wanted = max(agent if isinstance(agent, int) else len(agent), submission)
    try:
        found = gpus_here(backend)
    except PolicyNotEnforceable as problem:
        reason = problem.reasons["gpus"]
    except SandboxUnavailable as problem:
        reason = f"no backend that passes GPUs through works here: {problem}"
    else:
        if len(found) >= wanted:
            return
        reason = f"this machine has {len(found)} ({', '.join(gpu.name for gpu in found)})."
    raise PolicyNotEnforceable(
        f"Task {task.id} asks for {wanted} GPU (resources.gpu), but {reason} To do without, give "
        "--gpus 0 on the command line, set MLGYM_GPUS=0, or make the environment with gpus=0; or "
        "set resources.gpu to 0 in the task's file.",
        reasons={"gpu": reason},
    )
