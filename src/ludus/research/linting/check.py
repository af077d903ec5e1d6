"""Checking one task: its file, its folder, its grader, and the data it makes."""

from __future__ import annotations

import importlib.util
import shlex
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from ludus.findings import Finding, Report
from ludus.optional import is_importable
from ludus.research.data.hiding import hidden_paths
from ludus.research.grading.by_metric import metric_named
from ludus.research.linting.answers import find_answers
from ludus.research.linting.grader import find_in_grader
from ludus.research.linting.reach import (
    contents,
    find_links,
    find_secrets,
    find_writable,
    plain_files,
)
from ludus.research.linting.rules import BOOK, finding, ordered
from ludus.research.linting.trial import try_to_prepare
from ludus.research.task.config_file import line_of, read_config
from ludus.research.task.discovery import TASK_FILE, base_of, load_task, read_text
from ludus.research.task.task import Task
from ludus.sandbox.backend.root_image import python_paths, system_folders

__all__ = ["check_task", "file_of"]

LARGEST = 20 << 20
"""Bytes of one file in a task's folder; larger ones are for data.py to write."""
ENORMOUS = 1 << 32
"""Bytes of one file with which nothing but its size is looked at."""
_SPLITS = ("validation", "test")
_PROGRAMS = frozenset(
    {".cfg", ".css", ".html", ".ini", ".js", ".pth", ".py", ".pyc", ".pyi", ".so", ".toml"}
)
"""Endings of what a package reads when it is imported."""
_SYSTEM = frozenset({"locale", "mime.types", "os-release", "zoneinfo"})


def check_task(id_or_path: str | Path, *, build: bool = True, seed: int = 0) -> Report:
    """Check a task and return its defects.

    Args:
        id_or_path: Its id, or the path of its folder or file.
        build: Whether to make the data as well, twice, and search it for answers.
        seed: Of that data.

    Raises:
        TaskError: There is no such task.
    """
    file = file_of(id_or_path)
    text = read_text(file)
    base = base_of(text, file)
    config, problems = read_config(text, file.name, None if base is None else base.config)
    found = [
        finding("field", file.name, row.line, f"{row.field}: {row.message};", row.fix)
        for row in problems
    ]
    if config is not None:
        task = load_task(file)
        found += _parts(task, lambda *path: line_of(text, *path))
        found += _sizes(task)
        # To compare or copy such a file would take hours, or the disk.
        if max((path.stat().st_size for path in plain_files(task.folder)), default=0) <= ENORMOUS:
            found += _static(task)
            found += _built(task, seed) if build else ()
    return BOOK.report(config.id if config else str(file), ordered(found))


def file_of(id_or_path: str | Path) -> Path:
    """Return the file of a task; a name is that of a folder or file here, or else an id.

    Raises:
        TaskError: There is no such task.
    """
    path = Path(id_or_path)
    file = path / TASK_FILE if path.is_dir() else path
    return file if file.is_file() else load_task(id_or_path).file


def _parts(task: Task, line: Callable[..., int]) -> Iterator[Finding]:
    """Find parts that are missing, and packages."""
    config, file = task.config, task.file.name
    if not task.workspace.is_dir() and not task.data_program.is_file():
        yield finding("no-workspace", "workspace")
    if not task.submission:
        yield finding("no-submission", file, line("submission"))
    for name in ("baseline", "floor"):
        if getattr(config.evaluation, name) is None:
            detail = f"evaluation.{name} is not given."
            yield finding("no-scale", file, line("evaluation"), detail)
    for part in ("baseline", "reference"):
        command: str | None = getattr(config.run, part)
        if command is None:
            yield finding(f"no-{part}", file, line("run"), f"run.{part} is not given.")
        else:
            yield from _command(task, part, command, line("run", part))
    for index, package in enumerate(config.packages):
        if not is_importable(package):
            detail = f"{package!r} cannot be imported here."
            yield finding("package", file, line("packages", index), detail)


def _command(task: Task, part: str, command: str, line: int) -> Iterator[Finding]:
    places = (task.part(part), *task.layers("workspace"))
    try:
        words = shlex.split(command)
    except ValueError as problem:
        yield finding(f"no-{part}", task.file.name, line, f"run.{part} is no command: {problem}.")
        return
    for word in words:
        if word.endswith((".py", ".sh")) and not any((place / word).is_file() for place in places):
            detail = f"run.{part} runs {word!r}, which is neither in {part} nor in workspace."
            yield finding(f"no-{part}", task.file.name, line, detail)


def _static(task: Task) -> Iterator[Finding]:
    """Find defects of the files in the task's folder."""
    secrets = _secrets(task)
    yield from find_links(task.workspace)
    yield from find_secrets(task.workspace, secrets)
    yield from find_writable([*secrets.items(), (task.file.name, task.file)])
    yield from _grader(task, task.workspace)


def _sizes(task: Task) -> Iterator[Finding]:
    for path in plain_files(task.folder):
        if path.stat().st_size > LARGEST:
            size = f"It has {path.stat().st_size >> 20} MiB, more than {LARGEST >> 20}."
            yield finding("too-large", path.relative_to(task.folder), message=size)


def _secrets(task: Task) -> dict[str, Path]:
    names = ("grader", "reference", *_SPLITS, "data.py")
    return {name: task.part(name) for name in names if task.part(name).exists()}


def _grader(task: Task, workspace: Path) -> Iterator[Finding]:
    visible = frozenset(path.relative_to(workspace).as_posix() for path in plain_files(workspace))
    handed_in = frozenset(artefact.path for artefact in task.submission)
    if not task.grader.is_dir() and metric_named(task.config.evaluation.metric):
        return  # it is graded by the name of its metric
    yield from find_in_grader(task.grader, visible, handed_in)


def _built(task: Task, seed: int) -> Iterator[Finding]:
    """Find what is wrong with the data of an episode."""
    with tempfile.TemporaryDirectory(prefix="ludus-task-") as place:
        first, second = Path(place, "first"), Path(place, "second")
        trial = try_to_prepare(task, seed, first)
        if trial.missing or trial.failed:
            rule = "data-missing" if trial.missing else "data-failed"
            yield finding(rule, "data.py", message=trial.missing or trial.failed)
            return
        yield from _sources(task, trial.read)
        yield from _data(task, first)
        if task.data_program.is_file():
            try_to_prepare(task, seed, second)
            before, after = contents(first), contents(second)
            for name, _ in sorted(before.items() ^ after.items()):
                yield finding("data-random", name)


def _sources(task: Task, read: tuple[str, ...]) -> Iterator[Finding]:
    """Find files that data was made from and that the agent's sandbox would show."""
    roots = (*system_folders(), *(mount.source for mount in python_paths()))
    shown = [Path(folder).resolve() for folder in (*roots, *_package_folders(task))]
    hidden = hidden_paths(task)
    for name in sorted(set(read)):
        path = Path(name).resolve()
        about = any(part.endswith((".dist-info", ".egg-info")) for part in path.parts)
        if path.suffix in _PROGRAMS or about or not _SYSTEM.isdisjoint(path.parts):
            continue
        if any(map(path.is_relative_to, shown)) and not any(map(path.is_relative_to, hidden)):
            detail = f"The data is made from {path}, which the agent's sandbox shows too."
            yield finding("readable-source", "data.py", message=detail)


def _package_folders(task: Task) -> Iterator[str]:
    for package in task.config.packages:
        if is_importable(package):
            spec = importlib.util.find_spec(package.partition(".")[0])
            yield from (spec.submodule_search_locations if spec else None) or ()


def _data(task: Task, folder: Path) -> Iterator[Finding]:
    workspace, labels = folder / "workspace", {name: folder / name for name in _SPLITS}
    secrets = {**_secrets(task), **labels}
    yield from find_secrets(workspace, secrets)
    yield from find_answers(workspace, labels, task.config.answers)
    yield from _grader(task, workspace)
    known = contents(labels["validation"])
    for name, digest in contents(labels["test"]).items():
        if digest in known.values():
            yield finding("same-split", f"test/{name}")
    total = sum(path.stat().st_size for path in plain_files(workspace))
    if total > task.config.resources.disk:
        sizes = f"{total >> 20} MiB, and resources.disk allows {task.config.resources.disk >> 20}"
        yield finding("too-large", "workspace", message=f"The workspace has {sizes}.")
