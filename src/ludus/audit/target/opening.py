"""From what the auditor wrote to something that can be read."""

from __future__ import annotations

import re
from pathlib import Path

from ludus.audit.limits import Limits
from ludus.audit.problems import AuditError
from ludus.audit.target.archives import open_sdist, open_wheel
from ludus.audit.target.contract import Target
from ludus.audit.target.folder import open_folder
from ludus.audit.target.installed import open_installed

__all__ = ["open_target"]

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_ZIPS = (".whl", ".zip", ".egg")
_TARS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


def open_target(package: str, limits: Limits) -> Target:
    """Open a folder, wheel, sdist or installed distribution; nothing of it is run.

    A path that exists goes before a distribution of that name.

    Raises:
        AuditError: There is no such thing, or it is none of these.
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
