"""The default root of a sandbox: the host's system folders, read-only, and little else.

Nothing is downloaded or copied.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path

from ludus.sandbox.linux.visible_files import python_roots, system_folders
from ludus.sandbox.policy import Mount, Network

__all__ = ["ETC_BINDS", "PLACES", "python_paths", "system_folders", "system_links", "write_etc"]

ETC_BINDS = ("alternatives", "ssl/certs")
"""Folders of ``/etc`` that are bound as they are."""

PLACES = {"/workspace": "workspace", "/tmp": "tmp", "/dev/shm": "shm"}  # noqa: S108 - inside a sandbox
"""The writable places of a sandbox, and what they are called where it is set up."""

_ROOTS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC = {
    "passwd": "agent:x:{uid}:{uid}:agent:/workspace:/bin/bash\n",
    "group": "agent:x:{uid}:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
# What programs need to find libraries and the time. Copied, since a bind costs every command.
_ETC_COPIES = ("ld.so.cache", "localtime", "mime.types")
_ETC_LIMIT = 256 << 10


@cache
def system_links() -> dict[str, str]:
    """Return the links in the host's root that lead to its system folders, by their paths."""
    paths = (Path("/", name) for name in _ROOTS)
    return {str(path): str(path.readlink()) for path in paths if path.is_symlink()}


@cache
def python_paths() -> tuple[Mount, ...]:
    """Return the folders of this Python outside ``/usr``, each at its own path."""
    return tuple(Mount(path, path) for path in python_roots())


def write_etc(folder: Path, network: Network, uid: int) -> None:
    """Write the files of ``/etc`` into ``folder``; with the host's network, name servers too."""
    folder.mkdir(mode=0o755, exist_ok=True)
    texts = {name: text.format(uid=uid).encode() for name, text in _ETC.items()}
    for name in (*_ETC_COPIES, *(("resolv.conf",) if network == "host" else ())):
        with suppress(OSError):
            if Path("/etc", name).stat().st_size <= _ETC_LIMIT:
                texts[name] = Path("/etc", name).read_bytes()
    for name, text in texts.items():
        (folder / name).write_bytes(text)
        (folder / name).chmod(0o644)
    for name in ETC_BINDS:
        (folder / name).mkdir(parents=True, exist_ok=True)
