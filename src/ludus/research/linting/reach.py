"""Files of the workspace through which an agent reaches what it must not."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ludus.findings import Finding
from ludus.research.linting.rules import finding

__all__ = ["contents", "find_links", "find_secrets", "find_writable", "plain_files"]

_TELLING = 16
"""Bytes from which on equal contents are no coincidence."""
_IGNORED = ("__pycache__", ".git")


def plain_files(folder: Path) -> list[Path]:
    """Return the regular files below a folder, sorted; links are not followed."""
    if not folder.is_dir():
        return []
    return [
        path
        for path in sorted(folder.rglob("*"))
        if stat.S_ISREG(path.lstat().st_mode) and not set(path.parts) & set(_IGNORED)
    ]


def _end_of(link: Path) -> Path:
    # Unlike Path.resolve, this does not raise for a link to itself; it leads nowhere.
    return Path(os.path.realpath(link))


def find_links(workspace: Path) -> Iterator[Finding]:
    """Find links that lead out of a workspace, and what is no file at all."""
    root = workspace.resolve()
    for path in sorted(workspace.rglob("*")) if workspace.is_dir() else ():
        mode, name = path.lstat().st_mode, Path("workspace") / path.relative_to(workspace)
        if stat.S_ISLNK(mode):
            target = path.readlink()
            if target.is_absolute() or not _end_of(path).is_relative_to(root):
                yield finding("link-out", name, message=f"This link leads out, to {target}.")
        elif not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            yield finding("special-file", name)


def find_secrets(workspace: Path, secrets: Mapping[str, Path]) -> Iterator[Finding]:
    """Find files of a workspace that equal a secret one, by inode or by content.

    ``secrets`` are folders or files, by the name to show.
    """
    inodes: dict[tuple[int, int], str] = {}
    digests: dict[str, str] = {}
    for name, root in secrets.items():
        for path in [root] if root.is_file() else plain_files(root):
            shown = name if path == root else f"{name}/{path.relative_to(root).as_posix()}"
            status = path.stat()
            inodes[status.st_dev, status.st_ino] = shown
            if status.st_size >= _TELLING:
                digests[_digest(path)] = shown
    for path in plain_files(workspace):
        status, place = path.stat(), Path("workspace") / path.relative_to(workspace)
        linked = inodes.get((status.st_dev, status.st_ino))
        if linked:
            yield finding("hard-link", place, message=f"It is a hard link to {linked}.")
        elif status.st_size >= _TELLING and (same := digests.get(_digest(path))):
            yield finding("secret-file", place, message=f"It has the content of {same}.")


def find_writable(paths: Iterable[tuple[str, Path]]) -> Iterator[Finding]:
    """Find files that any user of the machine may change."""
    for name, root in paths:
        for path in [root] if root.is_file() else plain_files(root):
            if path.stat().st_mode & stat.S_IWOTH:
                yield finding("writable-file", Path(name) / path.relative_to(root))


def contents(folder: Path) -> dict[str, str]:
    """Return the digests of a folder's files by their paths."""
    return {path.relative_to(folder).as_posix(): _digest(path) for path in plain_files(folder)}


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
