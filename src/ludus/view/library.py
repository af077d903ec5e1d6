"""Finds runs, records and trajectories below the viewer's folder, and gives them names.

Addresses of pages hold names, and a name is looked up among what was found: no part of an address
ever becomes a path.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from ludus.errors import RecordError, ViewError
from ludus.record.format.folder import Folder
from ludus.view.settings import ViewSettings

__all__ = ["ITSELF", "Found", "Library"]

Kind: TypeAlias = Literal["run", "record", "file"]
"""A run of many units, a single record, or a file of another system."""

ITSELF = "record"
"""Name of the only episode of a single record or file."""

_DEEPEST = 6
_MOST_FOLDERS = 50_000
_AGAIN = 2.0
_PLAIN = re.compile(r"[\w.+-]{1,80}(?:~[\w.+-]{1,80}){0,5}", re.ASCII)
_UNIT = re.compile(r"([0-9a-f]{32})(?:-(\d{1,4}))?")


@dataclass(frozen=True, slots=True)
class Found:
    """A run, a record or a file.

    Attributes:
        name: In addresses; the same as long as it lies in the same place.
        kind: What it is.
        path: Where it is.
        place: The same for people, relative to the viewer's folder.
        within: No symbolic link is followed below this folder.
    """

    name: str
    kind: Kind
    path: Path
    place: str
    within: Path

    def open(self) -> Folder:
        """Open the folder.

        Raises:
            RecordError: It is gone, or behind a symbolic link.
        """
        return Folder(self.path, within=self.within)


class Library:
    """What the viewer can show. May be used by several threads."""

    def __init__(self, settings: ViewSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._found: dict[str, Found] = {}
        self._looked = -_AGAIN
        self.is_cut = False
        """Whether there were more folders than are searched."""

    def all(self) -> list[Found]:
        """Return everything there is, by name; searched anew every few seconds."""
        with self._lock:
            if time.monotonic() - self._looked >= _AGAIN:
                self._found = _by_name(self._search())
                self._looked = time.monotonic()
            return [self._found[name] for name in sorted(self._found)]

    def told(self, problem: object) -> str:
        """Return an error's text without the path of the viewer's folder, for pages."""
        text, root = str(problem), self._settings.folder
        if root is None or len(root.parts) < 2:
            return text
        return text.replace(f"{root}/", "").replace(str(root), root.name)

    def find(self, name: str) -> Found:
        """Return what has a name.

        Raises:
            ViewError: Nothing has.
        """
        found = self._found.get(name) or {one.name: one for one in self.all()}.get(name)
        if found is None:
            raise ViewError("There is no run of this name.")
        return found

    def episode(self, name: str, unit: str) -> Found:
        """Return the record of a unit of a run, or of the only episode of a single record.

        An abandoned record, number 2 of a unit for example, is named ``UNIT-2``.

        Raises:
            ViewError: There is none.
        """
        found = self.find(name)
        if unit == ITSELF and found.kind != "run":
            return found
        named = _UNIT.fullmatch(unit)
        if named is None or found.kind != "run":
            raise ViewError("There is no episode of this name.")
        path = found.path / ("abandoned" if named[2] else "records") / unit
        record = Found(f"{name}@{unit}", "record", path, f"{found.place} · {unit:.8}", found.within)
        try:
            record.open().close()
        except RecordError:
            raise ViewError("This episode has no record; it may not have begun.") from None
        return record

    def record(self, name: str) -> Found:
        """Return the record that is called ``RUN@UNIT``, or a single record by its name.

        Raises:
            ViewError: There is none.
        """
        run, at, unit = name.partition("@")
        return self.episode(run, unit if at else ITSELF)

    def _search(self) -> Iterator[Found]:
        for file in self._settings.files:
            yield Found(_name((file.name,)), "file", file, file.name, file.parent)
        root = self._settings.folder
        if root is None:
            return
        self.is_cut = False
        folders: list[tuple[Path, tuple[str, ...]]] = [(root, ())] if root.is_dir() else []
        left = _MOST_FOLDERS
        while folders:
            path, parts = folders.pop()
            kind = _kind(path)
            if kind is not None:
                name = _name(parts or (root.name or "run",))
                yield Found(name, kind, path, "/".join(parts) or root.name, root)
                continue
            if len(parts) >= _DEEPEST:
                continue
            inner = _folders(path)
            left -= len(inner)
            if left < 0:
                self.is_cut = True
                return
            folders += [(path / one, (*parts, one)) for one in inner]


def _kind(path: Path) -> Kind | None:
    """Return what a folder is, by the files in it; links do not count."""
    for name, kind in (("bench.json", "run"), ("manifest.json", "record")):
        try:
            status = (path / name).lstat()
        except (OSError, ValueError):
            continue
        if status.st_mode & 0o170000 == 0o100000:
            return kind  # type: ignore[return-value]
    return None


def _folders(path: Path) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return sorted(
                entry.name
                for entry in entries
                if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
            )
    except OSError:
        return []


def _by_name(found: Iterator[Found]) -> dict[str, Found]:
    """Return what was found by its names; one whose name is taken gets another."""
    named: dict[str, Found] = {}
    for one in found:
        if one.name in named:
            one = replace(one, name=_hashed(tuple(str(one.path).split("/"))))
        named[one.name] = one
    return named


def _name(parts: tuple[str, ...]) -> str:
    """Return the name in addresses: the parts of the path, or a hash where they do not fit.

    A part with a tilde has no plain name: it would be that of two parts.
    """
    name = "~".join(parts)
    if _PLAIN.fullmatch(name) and set(name) != {"."} and "~" not in "".join(parts):
        return name
    return _hashed(parts)


def _hashed(parts: tuple[str, ...]) -> str:
    path = "/".join(parts).encode("utf-8", "surrogateescape")
    last = re.sub(r"[^\w.+-]+", "-", parts[-1], flags=re.ASCII).strip("-.")[:60]
    return f"{last or 'run'}~{hashlib.sha256(path).hexdigest()[:10]}"
