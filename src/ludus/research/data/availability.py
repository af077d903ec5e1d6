"""What is missing on this machine for a task to run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ludus.distribution import pip_install
from ludus.errors import (
    DataMissing,
    Error,
    ImageMissing,
    PolicyNotEnforceable,
    SandboxUnavailable,
)
from ludus.optional import is_importable
from ludus.research.data.fetching import needs_of
from ludus.research.episode.equipment import find_equipment, wanted_gpus
from ludus.research.task.discovery import BUNDLED
from ludus.research.task.settings import MlgymSettings
from ludus.research.task.task import Task
from ludus.sandbox import backends

__all__ = ["Missing", "find_missing"]


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that a task needs and that is not here.

    Attributes:
        what: In a word or two.
        reason: What it is, and what to do.
    """

    what: str
    reason: str


def find_missing(tasks: Sequence[Task]) -> list[tuple[Missing, ...]]:
    """Return what is missing for each task to run here.

    Nothing of a task that others wrote is run, so only the data of bundled tasks is looked for.
    """
    # The backend 'process' isolates nothing.
    reasons = {name: why for name, why in backends().items() if name != "process"}
    told = reasons.get("bubblewrap") or ""
    sandbox = Missing("sandbox", f"No sandbox that isolates works here. bubblewrap: {told}")
    common = (sandbox,) if all(reasons.values()) else ()
    return [(*common, *_missing(task)) for task in tasks]


def _missing(task: Task) -> Iterator[Missing]:
    gpus = MlgymSettings.read().gpus
    wanted = [count for count in wanted_gpus(task, gpus) if isinstance(count, int)]
    try:
        find_equipment(task, gpus=gpus, without_image=True)
    except PolicyNotEnforceable as problem:
        yield Missing(f"{max(wanted)} GPU", str(problem))
    try:
        find_equipment(task, gpus=0)
    except (ImageMissing, SandboxUnavailable) as problem:
        yield Missing("image", str(problem))
    for package in task.config.packages:
        if not is_importable(package):
            told = f"The package {package!r} cannot be imported; install it."
            yield Missing(package, told)
    if task.folder.parent == BUNDLED:
        yield from _missing_data(task)


def _missing_data(task: Task) -> Iterator[Missing]:
    try:
        modules, source = needs_of(task)
        for module in modules:
            if not is_importable(module):
                told = f"Its data comes with {module}: run `{pip_install('research')}`."
                yield Missing(module, told)
        if source is not None:
            source.find()
    except DataMissing as problem:
        yield Missing("data", str(problem))
    except Error as problem:
        yield Missing("data.py", str(problem))
