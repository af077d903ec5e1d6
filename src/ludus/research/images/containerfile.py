"""A Containerfile for a task: this machine's Python version, and the task's packages, pinned."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from ludus.distribution import DISTRIBUTION
from ludus.errors import TaskError
from ludus.research.episode.agent_sandbox import declared_packages
from ludus.research.task.task import Task
from ludus.sandbox.image_names import check_image_name
from ludus.sandbox.linux.chosen_packages import canonical_name
from ludus.untrusted.package_set import PackageSet

__all__ = ["BASE", "Recipe", "recipe_of"]

BASE = "python:{}.{}.{}-slim".format(*sys.version_info[:3])
"""The image that a recipe begins with, unless another is named."""

_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+!_-]*")
_TEXT = """\
# The task {task}: Python, and the packages that the task declares with what they need, in the
# versions of the machine where this file was written. Graders, labels and Ludus are not in it.
FROM {base}
COPY requirements.txt /usr/local/share/requirements.txt
RUN python3 -m pip install --no-cache-dir --no-deps -r /usr/local/share/requirements.txt
"""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What an image of a task is built from.

    Attributes:
        tag: The name to give it.
        containerfile: Text of ``Containerfile``.
        requirements: Text of ``requirements.txt``: every package, with its version.
    """

    tag: str
    containerfile: str
    requirements: str

    def write(self, folder: Path) -> None:
        """Write both files into a new or empty folder.

        Raises:
            TaskError: It holds something.
            OSError: It cannot be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise TaskError(f"{folder} is not empty. Name a new folder.")
        (folder / "Containerfile").write_text(self.containerfile, "utf-8")
        (folder / "requirements.txt").write_text(self.requirements, "utf-8")


def recipe_of(task: Task, base: str | None = None) -> Recipe:
    """Return the recipe for an image of a task.

    Args:
        task: The task; its packages must be installed here, where the grader needs them too.
        base: The image to begin with, by default :data:`BASE`.

    Raises:
        TaskError: A declared package is not installed.
        ValueError: ``base`` is no name of an image.
    """
    declared_packages(task)
    rows = PackageSet.of(["ludus", *task.config.packages]).rows
    wanted = [(name, version) for name, version, _ in rows if name != canonical_name(DISTRIBUTION)]
    for name, version in wanted:
        if not _VERSION.fullmatch(version):
            raise TaskError(f"The package {name} has the version {version!r:.80}, which is none.")
    return Recipe(
        _tag(task),
        _TEXT.format(task=task.id, base=check_image_name(base or BASE)),
        "".join(f"{name}=={version}\n" for name, version in wanted),
    )


def _tag(task: Task) -> str:
    """Return the task's own name of its image, or one to give it."""
    image = task.config.image
    if image is not None and not image.startswith("sha256:"):
        return image.partition("@")[0]
    words = re.sub(r"[^a-z0-9]+", "-", task.id.lower()).strip("-")
    return f"localhost/ludus-task-{words}:1"
