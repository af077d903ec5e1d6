"""Project folders, walked without following links."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from ludus.audit.limits import AuditError, Limits
from ludus.audit.rules import make_finding
from ludus.audit.target.contract import Member, Target, read_metadata
from ludus.audit.target.metadata import Metadata

__all__ = ["file_reader", "open_folder", "walk"]

_SKIPPED = {".git", ".hg", ".svn", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
_METADATA = ("pyproject.toml", "PKG-INFO", "METADATA")


def open_folder(path: Path, limits: Limits) -> Target:
    """Read a project folder; dependencies are taken from ``pyproject.toml``."""
    target = Target("folder", str(path), Metadata(path.resolve().name), [])
    walk(path, target, limits)
    by_path = {member.path: member for member in target.members}
    for name in _METADATA:
        if name in by_path:
            target.metadata = read_metadata(by_path[name], target.metadata.name, limits)
            break
    else:
        missing = "the folder has no pyproject.toml: name and dependencies are unknown"
        target.metadata = target.metadata.with_problem(missing)
    return target


def walk(root: Path, target: Target, limits: Limits) -> None:
    """Add the regular files below a folder; links to the outside are reported."""
    inside = root.resolve()
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        # Virtual environments are not part of the project.
        folders[:] = sorted(
            name
            for name in folders
            if name not in _SKIPPED and not (here / name / "pyvenv.cfg").is_file()
        )
        for name in sorted(files) + folders:
            path = here / name
            relative = path.relative_to(root).as_posix()
            status = path.lstat()
            if stat.S_ISLNK(status.st_mode):
                if not path.resolve().is_relative_to(inside):
                    outside = "is a link that leads out of the folder; it was not followed"
                    target.findings.append(make_finding("unscanned-file", relative, 0, outside))
            elif stat.S_ISREG(status.st_mode):
                target.members.append(Member(relative, status.st_size, file_reader(path)))
        if len(target.members) > limits.files:
            target.incomplete.append(f"only the first {limits.files} files were read")
            return


def file_reader(path: Path) -> Callable[[int], bytes]:
    """Return a function that reads the beginning of a regular file, without following links."""

    def read(most: int) -> bytes:
        try:
            # The file may have been replaced since it was listed.
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(handle, "rb") as file:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise AuditError("is not a regular file")
                return file.read(most)
        except OSError as problem:
            raise AuditError(f"cannot be read: {problem.strerror}") from problem

    return read
