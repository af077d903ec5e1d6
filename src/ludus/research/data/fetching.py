"""``ludus task fetch``: gets the data of a task, checks it, and puts it in its place whole."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from ludus.errors import DataMissing, TaskError
from ludus.foreign_files import open_regular
from ludus.research.data.downloads import Progress, Room, fetch_file, is_address
from ludus.research.data.preparation import load_program
from ludus.research.data.sources import FETCHED, Source, fetched_root, given_folders
from ludus.research.task.task import Task

if sys.platform != "win32":
    import fcntl

__all__ = ["Fetched", "fetch_data", "needs_of"]

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Fetched:
    """Data that is on this machine.

    Attributes:
        name: The dataset's name.
        folder: Where it is.
        rows: The number of rows of each part.
        is_new: Whether it was fetched now.
    """

    name: str
    folder: Path
    rows: Mapping[str, int]
    is_new: bool

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return {
            "name": self.name,
            "folder": str(self.folder),
            "rows": dict(self.rows),
            "new": self.is_new,
        }


def needs_of(task: Task) -> tuple[tuple[str, ...], Source | None]:
    """Return the modules and the dataset that a task's ``data.py`` needs; it is imported.

    They are its ``NEEDS``, a tuple of names, and its ``SOURCE``.

    Raises:
        TaskError: It cannot be imported.
    """
    program, source = _program(task)
    return tuple(getattr(program, "NEEDS", ())), source


def fetch_data(
    task: Task,
    *,
    origin: str = "",
    again: bool = False,
    sample: bool = False,
    progress: Progress | None = None,
) -> Fetched | None:
    """Get the data of a task, unless it is here; return where it is, or ``None`` if it needs none.

    Args:
        task: The task.
        origin: A folder with the downloads or with the unpacked data, which is copied; or the
            address of a web folder with the downloads.
        again: Fetch it even if it is here.
        sample: Accept fewer rows than the dataset has.
        progress: Called while files come.

    Raises:
        DataMissing: It cannot be had, or something else came; the message says what to do.
        TaskError: The task's ``data.py`` cannot be imported.
        OSError: There is no room, or the folder cannot be written to.
    """
    program, source = _program(task)
    if source is None:
        return None
    if not (again or origin) and (here := _here(source)) is not None:
        return Fetched(source.name, here, _count(program, source, here), is_new=False)
    if source.variable in given_folders():
        raise DataMissing(
            f"{source.variable} names {given_folders()[source.variable]}, and only that folder is "
            f"searched for {source.name}. Unset it to have the data fetched."
        )
    if not (origin or source.downloads):
        raise source.missing("nothing is known that could be downloaded")
    with _staged(fetched_root()) as staged:
        digests = _collect(task, source, staged, origin, progress)
        rows = _count(program, source, staged)
        _check_rows(source, rows, sample)
        about = {"name": source.name, "origin": origin, "sha256": digests, "rows": rows}
        (staged / FETCHED).write_text(json.dumps(about, indent=2) + "\n", "utf-8")
        _put(staged, source.fetched)
    return Fetched(source.name, source.fetched, rows, is_new=True)


def _program(task: Task) -> tuple[ModuleType | None, Source | None]:
    if not task.data_program.is_file():
        return None, None
    try:
        program = load_program(task.data_program)
    except Exception as problem:  # the task's own code may raise anything
        told = f"{type(problem).__name__}: {problem}"
        raise TaskError(f"{task.data_program} cannot be imported: {told}") from problem
    source = getattr(program, "SOURCE", None)
    return program, source if isinstance(source, Source) else None


def _here(source: Source) -> Path | None:
    """Return the folder in which the data is found."""
    try:
        found = source.find()
    except DataMissing:
        return None
    return found[0][0].parent


def _collect(
    task: Task, source: Source, staged: Path, origin: str, progress: Progress | None
) -> dict[str, str]:
    """Fill a folder with the data; return the digests of what was downloaded."""
    folder = None if not origin or is_address(origin) else Path(origin).expanduser()
    if folder is not None and not folder.is_dir():
        raise DataMissing(f"There is no folder {folder}. Give one with {source.files}.")
    names = [one.name for one in source.downloads]
    # Plain files may be packed in another way than those that are published, as Debian's are.
    archives = [one.name for one in source.downloads if one.unpack]
    if folder is not None and not (archives and all((folder / n).is_file() for n in names)):
        _copy(folder, staged)
        return {}
    where = str(folder or origin)
    try:
        return {one.name: fetch_file(one, staged, where, progress) for one in source.downloads}
    except DataMissing as problem:
        raise DataMissing(
            f"{problem} Without a network: bring {', '.join(names)} here (from "
            f"{source.origin}), and run: ludus task fetch {task.id} --from FOLDER"
        ) from problem


def _copy(source: Path, target: Path) -> None:
    """Copy the files of a folder; links to files are followed, since the hub's cache has them."""
    room = Room(target, str(source))
    for path in sorted(source.rglob("*")):
        if not path.is_file():
            continue
        own = target / path.relative_to(source)
        own.parent.mkdir(parents=True, exist_ok=True)
        try:
            number = open_regular(path)
        except OSError as problem:
            if problem.errno != errno.EINVAL:
                raise
            raise DataMissing(f"{path} is no plain file; remove it from the folder.") from problem
        with os.fdopen(number, "rb") as file, own.open("wb") as copy:
            while chunk := file.read(_CHUNK):
                room.take(len(chunk))
                copy.write(chunk)


def _count(program: ModuleType | None, source: Source, folder: Path) -> dict[str, int]:
    """Return the number of rows of each part of the data in a folder, which reads all of it.

    Raises:
        DataMissing: It is not the dataset, or damaged.
    """
    count = getattr(program, "count_rows", None)
    if program is None or count is None:
        return {}
    before = program.__dict__["SOURCE"]
    program.__dict__["SOURCE"] = replace(source, folder=folder)
    try:
        return dict(count())
    except DataMissing as problem:
        raise DataMissing(f"This is not {source.name}, or it is damaged: {problem}") from problem
    except (ValueError, KeyError, OSError, EOFError) as problem:
        told = f"{type(problem).__name__}: {problem}"
        raise DataMissing(f"This is not {source.name}, or it is damaged: {told}") from problem
    finally:
        program.__dict__["SOURCE"] = before


def _check_rows(source: Source, rows: Mapping[str, int], sample: bool) -> None:
    wrong = [
        f"{name} has {rows.get(name, 0):,} instead of {count:,}"
        for name, count in source.rows.items()
        if rows.get(name, 0) != count and not (sample and 0 < rows.get(name, 0) < count)
    ]
    if wrong and rows:
        raise DataMissing(
            f"This is not all of {source.name}: {'; '.join(wrong)}. Fetch it again, or accept a "
            "part of it with --sample."
        )


@contextmanager
def _staged(root: Path) -> Iterator[Path]:
    """Make a folder for data that is coming, and remove those that killed processes have left."""
    with _locked(root):
        for left in (*root.glob(".fetching-*"), *root.glob(".old-*")):
            with suppress(OSError), _locked(left, wait=False):
                shutil.rmtree(left, ignore_errors=True)
        staged = Path(tempfile.mkdtemp(prefix=".fetching-", dir=root))
        held = ExitStack()
        held.enter_context(_locked(staged))
    with held:
        try:
            yield staged
        finally:
            shutil.rmtree(staged, ignore_errors=True)


def _put(staged: Path, place: Path) -> None:
    """Put a folder in its place; another that is there goes away."""
    staged.chmod(0o700)
    # Two processes may have fetched the same.
    with _locked(place.parent):
        aside = Path(tempfile.mkdtemp(prefix=".old-", dir=place.parent))
        try:
            if place.exists():
                place.rename(aside / "old")
            staged.rename(place)
        finally:
            shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def _locked(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock of a folder, which ends with the process.

    Raises:
        OSError: Another process holds it, and nobody waits; or it is no folder.
    """
    if sys.platform == "win32":
        yield
        return
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(number)
