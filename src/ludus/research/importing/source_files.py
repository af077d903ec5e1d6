"""Reading of foreign folders: plain files only, through no link, with limits."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ludus.errors import TaskError
from ludus.foreign_files import read_regular

__all__ = ["Budget", "inside", "plain_paths", "read_source", "source_bytes", "source_tree"]

LONGEST_TEXT = 4 << 20
LONGEST_FILE = 256 << 20
MOST_FILES = 20_000
MOST_BYTES = 1 << 30
_IGNORED = frozenset({"__pycache__", ".git"})


@dataclass(slots=True)
class Budget:
    """How much of a source may be read in all, however often it names the same files."""

    files: int = MOST_FILES
    bytes: int = MOST_BYTES

    def take(self, path: Path, size: int) -> None:
        """Count a file that was read.

        Raises:
            TaskError: It is too much.
        """
        self.files, self.bytes = self.files - 1, self.bytes - size
        if self.files < 0 or self.bytes < 0:
            raise TaskError(
                f"{path} is beyond the {MOST_FILES:,} files or {MOST_BYTES >> 20:,} MiB that are "
                "read; import a smaller folder."
            )


def read_source(path: Path, longest: int = LONGEST_TEXT) -> str:
    """Return the text of a foreign file.

    Raises:
        TaskError: It cannot be read, is not a regular file, is too large, or is not UTF-8.
    """
    try:
        return read_regular(path, longest, follow=False).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise TaskError(f"{path} is not UTF-8: {problem}. Save it as UTF-8.") from problem
    except OSError as problem:
        raise TaskError(
            f"{path} cannot be read: {problem.strerror}. A regular file of at most {longest:,} "
            "bytes is expected there."
        ) from problem


def source_bytes(path: Path) -> bytes:
    """Return the content of a foreign file.

    Raises:
        TaskError: It cannot be read, is not a regular file, or is too large.
    """
    try:
        return read_regular(path, LONGEST_FILE, follow=False)
    except OSError as problem:
        raise TaskError(f"{path} cannot be imported: {problem.strerror}.") from problem


def source_tree(folder: Path, budget: Budget | None = None) -> dict[str, bytes]:
    """Return the files below a foreign folder, by relative path; none if there is no folder.

    Raises:
        TaskError: Something in it is neither a regular file nor a folder, or it is too large.
    """
    left = budget or Budget()
    found: dict[str, bytes] = {}
    for path in plain_paths(folder):
        name = path.relative_to(folder).as_posix()
        found[name] = source_bytes(path)
        left.take(path, len(found[name]))
    return found


def inside(root: Path, name: str, what: str) -> Path:
    """Return the path of a file that a foreign file names, below the root.

    Raises:
        TaskError: The name leads out of the root.
    """
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
        raise TaskError(f"{what} names {name!r:.200}; expected a path below {root}.")
    place = root
    for part in path.parts:
        place /= part
        try:
            is_link = stat.S_ISLNK(place.lstat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            is_link = False
        except OSError as problem:
            raise TaskError(f"{what} names {name!r:.200}: {problem.strerror}.") from problem
        if is_link:
            raise TaskError(f"{what} names {name!r:.200}, which is or contains a link.")
    return place


def plain_paths(folder: Path) -> Iterator[Path]:
    """Yield the files below a foreign folder.

    Raises:
        TaskError: The folder is a link, or something in it is neither a file nor a folder.
    """
    if folder.is_symlink():
        raise TaskError(f"{folder} is a link; put a copy of what it stands for there.")
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _IGNORED)
        for name in (*folders, *sorted(files)):
            path = Path(where, name)
            mode = path.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise TaskError(
                    f"{path} is neither a file nor a folder; put a copy of what it stands for "
                    "there, or remove it."
                )
            if stat.S_ISREG(mode):
                yield path
