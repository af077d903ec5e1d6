"""Packages and compiled kernels that a sandbox needs from this installation."""

from __future__ import annotations

import importlib.util
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ludus.sandbox.linux.visible_files import is_shown
from ludus.sandbox.policy import Mount

__all__ = ["PACKAGES", "kernels_for_sandboxes", "package_folders", "package_mounts", "top_level"]


PACKAGES = "/ludus/packages"
"""Folder in a sandbox with packages from outside its Python installation."""


def top_level(entry_point: str) -> str:
    """Return the top-level name of the module in ``"module:name"``."""
    return entry_point.partition(":")[0].partition(".")[0]


def package_mounts(names: Iterable[str]) -> tuple[Mount, ...]:
    """Return what to mount so that packages, given by top-level names, are in ``PACKAGES``.

    Those that the sandbox sees anyway, and those that do not exist, are left out.
    """
    found = {name: place for name in names if (place := _place(name)) is not None}
    return tuple(
        Mount(str(place), f"{PACKAGES}/{place.name}")
        for place in found.values()
        if not is_shown(place)
    )


def package_folders(names: Iterable[str]) -> list[str]:
    """Return the folders that hold the packages, for a sandbox that sees all of the host."""
    places = (_place(name) for name in names)
    return list(dict.fromkeys(str(place.parent) for place in places if place is not None))


def _place(name: str) -> Path | None:
    """Return the folder or file of a top-level package."""
    try:
        # Of a top-level name nothing is executed; of a.b it would be a.
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    folders = list(spec.submodule_search_locations or ())
    where = folders[0] if folders else spec.origin
    if where is None or not Path(where).exists():
        return None  # built into the interpreter
    return Path(where).resolve()


_OTHERS = stat.S_IROTH | stat.S_IXOTH


def kernels_for_sandboxes() -> str:
    """Return the folder to show to a sandbox.

    A sandbox of root runs as another user, who cannot read a private folder. It gets a folder of
    hard links to the same files.
    """
    from ludus.kernel.native.cache import cache_folder

    folder = cache_folder()
    if os.geteuid() != 0 or folder.stat().st_mode & _OTHERS == _OTHERS:
        return str(folder)
    links = folder.with_name(f"{folder.name}-for-sandboxes")
    links.mkdir(exist_ok=True)
    links.chmod(0o755)
    known = {entry.name for entry in os.scandir(links)}
    for entry in os.scandir(folder):
        is_new = entry.name.endswith(".o") and entry.name not in known
        if is_new and entry.is_file(follow_symlinks=False):
            # Another process may make the same link.
            with suppress(FileExistsError, FileNotFoundError):
                Path(links, entry.name).hardlink_to(entry.path)
    return str(links)
