"""The image that a task's agent and submitted code run in: found, held to its digest, examined.

The grader never runs in it. Nothing of an image but its files has an effect, see
:mod:`ludus.sandbox.backend.images`, and what its own Python tells of it only decides whether a task
is refused, and which files of the image are covered.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from ludus.errors import ImageMissing, PolicyNotEnforceable, SandboxUnavailable, TaskError
from ludus.research.data.cache import cache_folder
from ludus.research.data.hiding import bundled_hidden
from ludus.research.task.contract import CODE_KINDS
from ludus.research.task.task import Task
from ludus.sandbox import Mount, Policy, open_sandbox
from ludus.sandbox.backend.containers import ContainerSandbox
from ludus.sandbox.backend.images import Image
from ludus.sandbox.opening import ISOLATING, backend_class, choose_backend
from ludus.terminal_text import printable
from ludus.untrusted.packages import PACKAGES, package_mounts

__all__ = ["TaskImage", "examined", "find_task_image", "nothing"]

_OLDEST = (3, 11)
_ANSWER = 1 << 18
_SECONDS = 120.0
_MOST_COVERS = 200
_COPIES = "ludus:research/tasks"
"""The graders in a copy of Ludus that an image brings along."""
_SUBMISSION = "ludus.research.grading.inside_code"


@dataclass(frozen=True, slots=True)
class TaskImage:
    """An image on this machine.

    Attributes:
        name: As the task names it.
        digest: The engine's id of it: a digest over layers and settings.
        sources: The names with digests by which registries have it.
        backend: The backend whose image it is.
        path: The folders in which it has programs, for ``PATH``.
        covers: Mounts that cover what tasks hide, where the image has it.
    """

    name: str
    digest: str
    sources: tuple[str, ...]
    backend: str
    path: str = ""
    covers: tuple[Mount, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return what a record's manifest says of it."""
        return {"name": self.name, "digest": self.digest, "sources": list(self.sources)}


def find_task_image(
    task: Task, backend: str | None = None, *, digest: str | None = None
) -> TaskImage | None:
    """Return the image of a task; ``None`` if it names none.

    Args:
        task: The task.
        backend: Of the sandboxes; by default the first that works and takes images.
        digest: What the image must have, because an episode or a record had it.

    Raises:
        ImageMissing: It is not on this machine; the message has the command that gets it.
        PolicyNotEnforceable: The backend has no images.
        SandboxUnavailable: The backend cannot run here.
        TaskError: It has another digest.
    """
    name = task.config.image
    if name is None:
        return None
    advice = (
        "To do without, give --without-image, or make the environment with without_image=True: the "
        "task then sees this machine's programs and packages, and its results stay claims."
    )
    try:
        found, chosen = _found(_engines(task, backend), name, digest)
    except ImageMissing as problem:
        place = shlex.quote(str(task.file))
        raise ImageMissing(
            f"Task {task.id} runs in an image of its own. {problem} "
            f"(`ludus task image {place} --out FOLDER` writes that folder.) {advice}"
        ) from None
    except PolicyNotEnforceable as problem:
        raise PolicyNotEnforceable(f"{problem} {advice}", reasons=problem.reasons) from None
    except SandboxUnavailable as problem:
        raise SandboxUnavailable(
            f"Task {task.id} runs in the image {name}, which takes podman or Docker. {problem}\n"
            f"{advice}"
        ) from None
    if digest not in (None, found.digest):
        raise TaskError(
            f"The image {name} of task {task.id} is {found.digest} here, and was {digest}: the "
            "name means another image now. Results of different images are not mixed. If this "
            "machine still has the old one, give it the name again: "
            f"`{chosen} tag {digest} {_tagged(name)}`. A name with a digest "
            "(name@sha256:…) in the task's file always means one image."
        )
    return TaskImage(name, found.digest, found.sources, chosen, found.path)


def _engines(task: Task, backend: str | None) -> list[type[ContainerSandbox]]:
    """Return the backends to look for an image in: the one that is named, or all that work here.

    Raises:
        PolicyNotEnforceable: The named one has no images.
        SandboxUnavailable: It cannot run here, or none can.
    """
    chosen = choose_backend(backend, image=True)
    if not issubclass(chosen, ContainerSandbox):
        raise PolicyNotEnforceable(
            f"Task {task.id} runs in the image {task.config.image}, and the {chosen.backend} "
            "backend has no images. Use --backend podman or --backend docker.",
            reasons={"image": f"the {chosen.backend} backend has no images"},
        )
    if (reason := chosen.unavailable()) is not None:
        raise SandboxUnavailable(f"The {chosen.backend} backend cannot run here. {reason}")
    if backend is not None:
        return [chosen]
    others = (backend_class(name) for name in ISOLATING if name != chosen.backend)
    more = [cls for cls in others if issubclass(cls, ContainerSandbox)]
    return [chosen, *(cls for cls in more if cls.unavailable() is None)]


def _found(
    engines: list[type[ContainerSandbox]], name: str, digest: str | None
) -> tuple[Image, str]:
    """Return an image and its backend: the first that has it, or has it with this digest."""
    found: list[tuple[Image, str]] = []
    missing: list[ImageMissing] = []
    for engine in engines:
        try:
            found.append((engine.find_image(name), engine.backend))
        except ImageMissing as problem:
            missing.append(problem)
    if not found:
        raise missing[0]
    same = (row for row in found if row[0].digest == digest)
    return next(same, found[0])


def examined(image: TaskImage, task: Task, limits: tuple[int | None, float | None]) -> TaskImage:
    """Return the image with what has to be covered in it, after a look inside.

    Args:
        image: The image.
        task: The task.
        limits: Memory and processors of the sandbox in which its Python is asked.

    Raises:
        TaskError: It lacks Python, bash or a package that the task declares.
        SandboxError: No sandbox can be opened in it.
    """
    hidden = dict.fromkeys((*task.config.hidden, *bundled_hidden(), _COPIES))
    modules = tuple(dict.fromkeys(name.partition(".")[0] for name in task.config.packages))
    code = any(item.kind in CODE_KINDS for item in task.submission)
    imports = (*modules, *((_SUBMISSION,) if code else ()))
    told = _look(image, tuple(hidden), modules, imports, limits)
    if problem := _problem(told):
        raise TaskError(
            f"Task {task.id} cannot run in its image {image.name} ({image.digest:.19}…): {problem}."
        )
    covers = []
    for path, is_folder in told["hidden"]:
        try:
            covers.append(Mount(nothing(is_folder=is_folder), path))
        except ValueError as impossible:
            raise TaskError(f"In the image {image.name}, {path!r:.200}: {impossible}") from None
    return replace(image, covers=tuple(covers))


def nothing(*, is_folder: bool) -> str:
    """Return an empty folder or file for sandboxes to see instead of something else."""
    path = cache_folder("nothing") / ("folder" if is_folder else "file")
    if is_folder:
        path.mkdir(mode=0o755, exist_ok=True)
    else:
        path.touch(mode=0o644)
    return str(path)


@cache
def _look(
    image: TaskImage,
    hidden: tuple[str, ...],
    modules: tuple[str, ...],
    imports: tuple[str, ...],
    limits: tuple[int | None, float | None],
) -> dict[str, Any]:
    """Ask the image's own Python; an answer of another form is told as trouble."""
    program = resources.files("ludus.research.images").joinpath("inside_image.py").read_text()
    asked = {"hidden": hidden, "modules": modules, "imports": imports, "paths": [PACKAGES]}
    memory, cpus = limits
    policy = Policy(memory=memory, cpus=cpus, output=_ANSWER, mounts=package_mounts(["ludus"]))
    with open_sandbox(policy, backend=image.backend, image=image.digest, label="image") as sandbox:
        if sandbox.run(["bash", "-c", "true"], timeout=_SECONDS).returncode != 0:
            return {"trouble": "it has no bash on its PATH"}
        argv = ["python3", "-I", "-B", "-c", program]
        done = sandbox.run(argv, input=json.dumps(asked).encode(), timeout=_SECONDS)
    if done.returncode != 0:
        said = printable(done.error_text.strip()[-300:], 300)
        return {
            "trouble": f"its python3 cannot be asked what it has (status {done.returncode}: {said})"
        }
    try:
        return _checked(json.loads(done.stdout))
    except (ValueError, TypeError, KeyError, RecursionError):
        return {"trouble": "its python3 does not answer what it is asked"}


def _checked(told: Any) -> dict[str, Any]:
    """Return an answer in the form that is expected; an image may tell anything."""
    major, minor, *_ = told["python"]
    if len(told["hidden"]) > _MOST_COVERS:
        raise ValueError("too many places")
    return {
        "python": (int(major), int(minor)),
        "missing": _texts(told["missing"]),
        "hidden": [(_texts([path])[0], bool(is_folder)) for path, is_folder in told["hidden"]],
        "trouble": _texts([told["trouble"]])[0],
    }


def _texts(told: Iterable[Any]) -> list[str]:
    found = list(told)
    if len(found) > 1000 or not all(isinstance(one, str) and len(one) < 4096 for one in found):
        raise ValueError("not a list of texts")
    return found


def _problem(told: dict[str, Any]) -> str:
    """Return why a task cannot run in an image; empty if it can."""
    if "python" in told and told["python"] < _OLDEST:
        had, wanted = (".".join(map(str, version)) for version in (told["python"], _OLDEST))
        return f"it has Python {had}; required is {wanted} or later"
    if told.get("missing"):
        named = printable(", ".join(told["missing"]), 500)
        return f"it lacks packages that the task declares: {named}. Install them in the image"
    if trouble := told["trouble"]:
        return printable(trouble, 700)
    return ""


def _tagged(name: str) -> str:
    return name.partition("@")[0]
