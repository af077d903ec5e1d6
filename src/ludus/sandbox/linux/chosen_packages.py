"""What sandboxes see of a Python installation when only some distributions are to be seen.

Everything else in folders of packages does not exist for them: modules, programs, ``.pth`` files
and links of other distributions. Where distributions share a folder, as namespace packages do, only
the parts of the chosen ones are seen. Other Pythons that lie among the system's folders, as some
programs bring along, are hidden whole, and so are archives of packages.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path, PurePosixPath

from ludus.sandbox.linux.distribution_files import owned_by
from ludus.sandbox.linux.remembered import recall, remember, sources
from ludus.sandbox.linux.visible_files import PROGRAMS, Shown, shown_folders, system_folders

__all__ = ["canonical_name", "shown_with"]

_INFOS = (".dist-info", ".egg-info")
_ARCHIVES = ("share/python-wheels", "lib/python3*/ensurepip/_bundled")
_LIBRARIES = ("lib", "lib64", "libexec", "share")
_PLACES = (*_LIBRARIES, "local", *(f"local/{name}" for name in _LIBRARIES))
_DEPTH = 6


def canonical_name(name: str) -> str:
    """Return the name of a distribution as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def shown_with(packages: tuple[str, ...] | None) -> tuple[Shown, ...]:
    """Return what sandboxes see of the host's folders with these distributions; ``None``: with all.

    Args:
        packages: canonical names.
    """
    found = shown_folders()
    return found if packages is None else _restricted(_Key(found), frozenset(packages))


class _Key:
    """All that is shown, compared by identity: it is made anew when folders have changed."""

    def __init__(self, shown: tuple[Shown, ...]) -> None:
        self.shown = shown

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.shown is self.shown

    def __hash__(self) -> int:
        return id(self.shown)


@cache
def _restricted(key: _Key, packages: frozenset[str]) -> tuple[Shown, ...]:
    return tuple(_with(shown, packages) for shown in key.shown)


def _with(shown: Shown, packages: frozenset[str]) -> Shown:
    names = dict(shown.names)
    inside = [path for path in names if path.endswith("-packages")]
    for path in (*_others(shown.folder, tuple(inside)), *_archives(shown.folder)):
        parent, _, hidden = path.rpartition("/")
        seen = names.get(parent, _listed(Path(shown.folder, parent)))
        names[parent] = tuple(name for name in seen if name != hidden)
    if not inside:
        return Shown.of(shown.folder, names)
    programs: set[str] = set()
    for path in inside:
        folder = Path(shown.folder, path)
        chosen = _infos(names[path], packages)
        for info in chosen:
            programs.update(owned_by(str(folder / info)).programs)
        names[path] = tuple(_chosen(folder, names[path], chosen))
        names.update(_shared(path, folder, names[path], chosen))
        compiled = f"{path}/__pycache__"
        if compiled in names:
            modules = set(names[path])
            names[path] = (*names[path], "__pycache__")
            names[compiled] = tuple(
                name for name in names[compiled] if f"{name.partition('.')[0]}.py" in modules
            )
    if "bin" in names:
        names["bin"] = tuple(
            name
            for name in names["bin"]
            if name in programs or any(fnmatch(name, pattern) for pattern in PROGRAMS)
        )
    return Shown.of(shown.folder, names)


def _archives(folder: str) -> Iterator[str]:
    """Yield the folders with archives from which a Python installs its first packages."""
    for pattern in _ARCHIVES:
        yield from (str(path.relative_to(folder)) for path in sorted(Path(folder).glob(pattern)))


@cache
def _others(folder: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return what holds packages of other Pythons in a system folder, by path below it.

    Args:
        folder: the system folder; others have none.
        known: its folders of packages whose contents are chosen.
    """
    if folder not in system_folders():
        return ()
    places = [f"{folder}/{place}" for place in _PLACES]
    key, seen = json.dumps(["other Pythons", folder, known]), sources(places)
    if (kept := recall(key)) is not None:
        return tuple(kept)
    found = set()
    for place in places:
        for path in _package_folders(place, _DEPTH):
            inside = path.removeprefix(f"{folder}/")
            top = path.removeprefix(f"{place}/").partition("/")[0]
            whole = f"{place}/{top}".removeprefix(f"{folder}/")
            if inside not in known and whole not in _PLACES:
                is_shared = any(one.startswith(f"{whole}/") for one in known)
                found.add(inside if is_shared else whole)
    remember(key, sorted(found), seen)
    return tuple(sorted(found))


def _package_folders(folder: str, depth: int) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            below = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for entry in below:
        if entry.name in ("site-packages", "dist-packages"):
            yield entry.path
        elif depth:
            yield from _package_folders(entry.path, depth - 1)


def _infos(names: Iterable[str], packages: frozenset[str]) -> list[str]:
    """Return the ``.dist-info`` folders of the chosen distributions."""
    infos = (name for name in names if name.endswith(_INFOS))
    return [name for name in infos if canonical_name(name.split("-")[0]) in packages]


def _chosen(folder: Path, names: Iterable[str], infos: list[str]) -> Iterator[str]:
    owned = {name for info in infos for name in owned_by(str(folder / info)).names} | {*infos}
    yield from (name for name in names if name in owned and name != "__pycache__")


def _shared(
    path: str, folder: Path, names: Iterable[str], infos: list[str]
) -> dict[str, tuple[str, ...]]:
    """Return what is seen in folders that chosen distributions share with others."""
    others = [info for info in _listed(folder) if info.endswith(_INFOS) and info not in infos]
    theirs = {name for info in others for name in owned_by(str(folder / info)).names}
    common = {name for name in names if name in theirs and (folder / name).is_dir()}
    if not common:
        return {}
    ours, foreign = (set(_files(folder, group, common)) for group in (infos, others))
    made: dict[str, tuple[str, ...]] = {}
    todo = [PurePosixPath(name) for name in sorted(common)]
    while todo:
        place = todo.pop()
        mine, other = (_below(files, place) for files in (ours, foreign))
        if not other:
            continue
        made[f"{path}/{place}"] = tuple(sorted(mine))
        todo += [place / name for name in mine & other if (folder / place / name).is_dir()]
    return made


def _below(files: Iterable[PurePosixPath], place: PurePosixPath) -> set[str]:
    """Return the names in a folder that lead to files."""
    depth = len(place.parts)
    return {file.parts[depth] for file in files if file.parts[:depth] == place.parts}


def _files(folder: Path, infos: Iterable[str], tops: set[str]) -> Iterator[PurePosixPath]:
    """Yield the files that distributions record below some names."""
    for info in infos:
        try:
            lines = (folder / info / "RECORD").read_text(errors="replace").splitlines()
        except OSError:
            continue
        for line in lines:
            file = PurePosixPath(line.partition(",")[0].strip('"'))
            if len(file.parts) > 1 and file.parts[0] in tops:
                yield file


def _listed(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []
