"""The packages that are audited: folders, wheels, sdists and installed distributions.

They are read without being run.
"""

from __future__ import annotations

import re
from pathlib import Path

from ludus.audit.limits import AuditError, Limits
from ludus.audit.target.archives import open_sdist, open_wheel
from ludus.audit.target.contract import Member, Target
from ludus.audit.target.folder import open_folder
from ludus.audit.target.installed import open_installed
from ludus.audit.target.metadata import Metadata

__all__ = ["Member", "Metadata", "Target", "open_target"]

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_ZIPS = (".whl", ".zip", ".egg")
_TARS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


def open_target(package: str, limits: Limits) -> Target:
    """Open a folder, wheel, sdist or installed distribution, without running it.

    An existing path takes precedence over an installed distribution of that name.

    Raises:
        AuditError: There is no such package, or its kind is not supported.
    """
    path = Path(package)
    if path.is_dir():
        return open_folder(path, limits)
    if path.is_file():
        name = path.name.lower()
        if name.endswith(_ZIPS):
            return open_wheel(path, limits)
        if name.endswith(_TARS):
            return open_sdist(path, limits)
        raise AuditError(f"{package} is neither a wheel ({_ZIPS[0]}) nor an sdist (.tar.gz).")
    if not _NAME.fullmatch(package):
        raise AuditError(f"{package} does not exist.")
    return open_installed(package, limits)
