"""Which parts of the host's folders sandboxes see: an allow-list, by name.

A Python installation may hold more than Python: a second copy of Ludus with its graders, a
checkout, another virtual environment, somebody's files. What is shown of it is the interpreter,
the standard library, and what installed distributions say is theirs; everything else is not
there. Ludus itself is never among that: who needs it gets it mounted, without what is hidden.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import filter as matching
from functools import cache
from pathlib import Path

from ludus.sandbox.linux import distribution_files
from ludus.sandbox.linux.remembered import recall, remember, sources

# It is worked out before the first sandbox opens, and pathlib would take three times as long.
# ruff: noqa: PTH110, PTH112, PTH114, PTH115, PTH116, PTH208

__all__ = [
    "PROGRAMS",
    "Shown",
    "Steps",
    "is_shown",
    "python_roots",
    "seen_as",
    "shown_folders",
    "system_folders",
]

_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_USR = {*_SYSTEM, "games", "include", "libexec", "local", "share"}
_LOCAL = ("bin", "sbin", "lib", "lib64", "libexec", "include", "share", "cuda*")
_PACKAGES = ("lib*/python3*/site-packages", "lib*/python3*/dist-packages")
_PREFIX = ("bin", "include", "lib", "lib64", "pyvenv.cfg", "share")
_LIBRARIES = ("*.so", "*.so.*", "engines*", "ossl-modules", "pkgconfig", "tcl*", "tk*", "itcl*")
_DATA = ("tcltk", "terminfo", "zoneinfo")
PROGRAMS = ("python*", "pip*", "pydoc*", "2to3*")
_STANDARD = ("lib-dynload", "config-*", "_sysconfigdata*", "site-packages", "__pycache__")
_VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
_LIB = f"lib/{_VERSION}"
_PARTS = ("", "bin", "include", "lib", "share", _LIB, f"{_LIB}/site-packages")
# What only a copy of Ludus has, wherever its package begins.
_COPIES = tuple(
    tuple(f"/{top}{mark}" for mark in ("research/grading", "sandbox/contract.py"))
    for top in ("", "ludus/", "src/ludus/")
)
_COPY_PARTS = tuple(
    f"{top}{part}"
    for top in ("", "/ludus", "/src", "/src/ludus")
    for part in ("/research", "/sandbox", "/ludus", "/src")
)
_INFOS = (".dist-info", ".egg-info")


Steps = tuple[tuple[str | int, ...], ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """A folder of the host that sandboxes see at its own path.

    Args:
        folder: its path.
        names: what is seen in some folders below it, by their paths relative to it (``""`` is the
            folder itself). Of any other folder below that is seen, all is seen.
        steps: how to make a mask of that, for ``arrange``: folders of packages show what is
            chosen, now and later; others hide what is there now.
        plain_steps: likewise, without choosing.
    """

    folder: str
    names: Mapping[str, tuple[str, ...]]
    steps: Steps = ()
    plain_steps: Steps = ()

    @classmethod
    def of(cls, folder: str, names: Mapping[str, tuple[str, ...]]) -> Shown:
        """Make one with its masks."""
        bare = cls(folder, names)
        return cls(folder, names, bare._steps(choose=True), bare._steps(choose=False))

    @classmethod
    def from_plain(
        cls,
        folder: str,
        names: Mapping[str, list[str]],
        steps: list[list[str | int]],
        plain_steps: list[list[str | int]],
    ) -> Shown:
        """Make one from data that went through JSON."""
        inside = {path: tuple(some) for path, some in names.items()}
        return cls(folder, inside, tuple(map(tuple, steps)), tuple(map(tuple, plain_steps)))

    def _steps(self, *, choose: bool) -> Steps:
        made: dict[str, tuple[str | int, ...]] = {}
        for inside in sorted(self.names, key=lambda path: path.count("/") + bool(path)):
            path = f"{self.folder}/{inside}".rstrip("/")
            if not os.path.isdir(path) or os.path.islink(path) or not self.shows(Path(path)):
                continue
            parts = inside.split("/") if inside else []
            for length in range(1, len(parts) + 1):
                way = "/".join(parts[:length])
                made.setdefault(way, ("pass", way))
            prefix = f"{inside}/" if inside else ""
            if choose and path.endswith("-packages"):
                made[inside] = ("choose", inside)
                steps = (_step(f"{path}/{name}", f"{prefix}{name}") for name in self.names[inside])
                made.update((str(step[1]), step) for step in steps if step is not None)
            else:
                seen = set(self.names[inside])
                hidden = (name for name in _listed(path) if name not in seen)
                made.update((f"{prefix}{name}", ("hide", f"{prefix}{name}")) for name in hidden)
        return tuple(made.values())

    def shows(self, path: Path) -> bool:
        """Return whether a path of the host is seen."""
        if not path.is_relative_to(self.folder):
            return False
        parts = path.relative_to(self.folder).parts
        for length, name in enumerate(parts):
            names = self.names.get("/".join(parts[:length]))
            if names is not None and name not in names:
                return False
        return True


@cache
def system_folders() -> tuple[str, ...]:
    """Return ``/usr`` and the system folders beside it that are no links."""
    paths = (Path("/", name) for name in ("usr", *_SYSTEM))
    return tuple(str(path) for path in paths if path.is_dir() and not path.is_symlink())


@cache
def python_roots() -> tuple[str, ...]:
    """Return the folders of this Python that lie outside of the system's."""
    found = dict.fromkeys((sys.base_prefix, sys.base_exec_prefix, sys.prefix))
    outside = (path for path in found if not Path(path).is_relative_to("/usr"))
    return tuple(path for path in outside if Path(path).is_dir())


def shown_folders() -> tuple[Shown, ...]:
    """Return all that sandboxes see of the host's folders, as they are now."""
    return _found(tuple(_stamp(path) for path in _watched()))


@cache
def _found(stamps: tuple[int, ...]) -> tuple[Shown, ...]:
    """Look anew whenever names have come or gone."""
    del stamps
    roots = python_roots()
    own = (__file__, distribution_files.__file__)
    key = json.dumps([own, system_folders(), roots, [*map(_uses_packages, roots)], _VERSION])
    if (kept := recall(key)) is not None:
        return tuple(Shown.from_plain(*row) for row in kept)
    seen = sources([*own, *_watched(), *_looked_at()])
    system = (Shown.of(path, _system_names(path)) for path in system_folders())
    found = (*system, *(Shown.of(path, _python_names(path)) for path in roots))
    rows = [(one.folder, dict(one.names), one.steps, one.plain_steps) for one in found]
    remember(key, rows, seen)
    return found


def _looked_at() -> Iterator[str]:
    """Yield what lies in folders of packages and decides whether it is shown."""
    unused = {f"{root}/{_LIB}/site-packages" for root in python_roots() if not _uses_packages(root)}
    for folder in (path for path in _watched() if path.endswith("-packages")):
        for name in () if folder in unused else _listed(folder):
            path = f"{folder}/{name}"
            if name.endswith(_INFOS):
                yield from distribution_files.read_of(path)
                continue
            yield path
            # A folder that is not there yet changes the one that it comes into.
            yield from (part for part in map(path.__add__, _COPY_PARTS) if os.path.exists(part))


@cache
def _watched() -> tuple[str, ...]:
    """Return the folders in which names are chosen, and those in which such may appear."""
    python = (f"{root}/{part}" for root in python_roots() for part in _PARTS)
    system = (str(path) for root in system_folders() for path in _system_packages(Path(root)))
    return (*python, *system, "/usr", "/usr/local", "/usr/lib", "/usr/local/lib")


def is_shown(path: Path) -> bool:
    """Return whether sandboxes see a path of the host."""
    return any(True for _ in seen_as(path))


def seen_as(path: Path, shown: Iterable[Shown] | None = None) -> Iterator[Path]:
    """Yield the paths at which sandboxes see a path of the host; links on the way are resolved.

    Args:
        path: of the host.
        shown: what they see; by default all that any does.
    """
    resolved = path.resolve()
    for folder in shown_folders() if shown is None else shown:
        root = Path(folder.folder).resolve()
        if resolved.is_relative_to(root):
            inside = Path(folder.folder, resolved.relative_to(root))
            if folder.shows(inside):
                yield inside


def _system_names(folder: str) -> dict[str, tuple[str, ...]]:
    root, names = Path(folder), {}
    if folder == "/usr":
        names[""] = tuple(name for name in _listed(root) if name in _USR)
        names["local"] = _matching(root / "local", _LOCAL)
    for packages in _system_packages(root):
        # The system's own has no lists of what belongs to whom.
        own = not packages.is_relative_to("/usr/local")
        inside = _not_copies(str(packages)) if own else _recorded(str(packages))[0]
        names[str(packages.relative_to(root))] = inside
    return names


def _system_packages(root: Path) -> list[Path]:
    tops = (root, root / "local") if root.name == "usr" else (root.parent,)
    found = (path for top in tops for pattern in _PACKAGES for path in top.glob(pattern))
    return [path for path in found if path.is_relative_to(root)]


def _python_names(folder: str) -> dict[str, tuple[str, ...]]:
    root = Path(folder)
    names: dict[str, tuple[str, ...]] = {
        "": _matching(root, _PREFIX),
        "include": _matching(root / "include", ("python3*",)),
        "share": _matching(root / "share", _DATA),
        "lib": _matching(root / "lib", (*_LIBRARIES, _VERSION)),
        _LIB: _standard(root / _LIB, _STANDARD),
        f"{_LIB}/__pycache__": _standard(root / _LIB / "__pycache__"),
    }
    packages, programs = root / _LIB / "site-packages", _matching(root / "bin", PROGRAMS)
    if _uses_packages(folder):
        shown, more = _recorded(str(packages))
        programs = tuple(dict.fromkeys((*programs, *more)))
        shown = (*shown, "__pycache__")
        compiled = _listed(packages / "__pycache__")
        names[f"{_LIB}/site-packages"] = shown
        names[f"{_LIB}/site-packages/__pycache__"] = tuple(
            name for name in compiled if f"{name.partition('.')[0]}.py" in shown
        )
    else:
        names[_LIB] = tuple(name for name in names[_LIB] if name != "site-packages")
    names["bin"] = programs
    return names


def _uses_packages(root: str) -> bool:
    """Whether packages of a Python are used; a virtual environment goes without its base's."""
    packages = f"{root}/{_LIB}/site-packages"
    return packages in sys.path or root == sys.prefix


def _standard(folder: Path, more: tuple[str, ...] = ()) -> tuple[str, ...]:
    known, others = sys.stdlib_module_names, set(_matching(folder, more))
    return tuple(
        name for name in _listed(folder) if name.partition(".")[0] in known or name in others
    )


def _matching(folder: Path, patterns: tuple[str, ...]) -> tuple[str, ...]:
    there = _listed(folder)
    found = {name for pattern in patterns for name in matching(there, pattern)}
    return tuple(name for name in there if name in found)


def _listed(folder: str | Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _stamp(folder: str) -> int:
    """Return when names in a folder changed last."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def _recorded(folder: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what belongs to distributions in a folder of packages, and their programs.

    Ludus is not among them.
    """
    there, owned, programs, ours = _listed(folder), set[str](), set[str](), set[str]()
    for info in (name for name in there if name.endswith(_INFOS)):
        found = distribution_files.owned_by(f"{folder}/{info}")
        mine = re.split(r"[-.]", info.lower(), maxsplit=1)[0]
        if mine.partition("_")[0] == "ludus" or "ludus" in found.names:
            ours.update((info, *found.names))
        else:
            owned.update((info, *found.names))
            programs.update(found.programs)
    allowed = owned - ours
    kept = tuple(name for name in there if name in allowed and not _is_apart(folder, name))
    return kept, tuple(sorted(programs))


def _step(path: str, inside: str) -> tuple[str | int, ...] | None:
    """Return how a mask shows a name that is chosen."""
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            return ("link", inside, os.readlink(path))
    except OSError:
        return None  # gone meanwhile
    if stat.S_ISDIR(found.st_mode):
        return ("folder", inside)
    return ("file", inside, found.st_size) if stat.S_ISREG(found.st_mode) else None


def _not_copies(folder: str) -> tuple[str, ...]:
    return tuple(name for name in _listed(folder) if not _is_apart(folder, name))


def _is_apart(folder: str, name: str) -> bool:
    """Return whether a name among packages is something else, or leads to something else."""
    path, name, exists = f"{folder}/{name}", name.lower(), os.access
    if name == "ludus" or name.startswith(
        ("ludus-", "ludus.", "ludus_", "_editable", "__editable")
    ):
        return True
    if name.endswith((".pth", ".egg-link")):
        return _leads_out(path)
    if os.path.islink(path):
        return not Path(path).resolve().is_relative_to(Path(folder).resolve())
    # Some hundred packages are looked at; asking for a few names beats listing each folder.
    return (
        exists(f"{path}/.git", os.F_OK)
        or exists(f"{path}/pyvenv.cfg", os.F_OK)
        or any(all(exists(f"{path}{mark}", os.F_OK) for mark in marks) for marks in _COPIES)
    )


def _leads_out(path: str) -> bool:
    try:
        lines = Path(path).read_text(errors="replace").splitlines()
    except OSError:
        return True
    return any(line.lstrip().startswith("/") for line in lines)
