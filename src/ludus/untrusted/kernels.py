"""Shares compiled kernels with sandboxes, read-only.

A sandbox verifies their hashes; what it compiles itself stays in the sandbox.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

__all__ = ["kernels_for_sandboxes"]

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
