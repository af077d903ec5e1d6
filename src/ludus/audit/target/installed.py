"""Installed distributions, found by their metadata and not imported."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import sys
import urllib.parse
from importlib import metadata
from pathlib import Path

from ludus.audit.limits import AuditError, Limits
from ludus.audit.rules import make_finding
from ludus.audit.target.contract import Member, Target
from ludus.audit.target.folder import file_reader, walk
from ludus.audit.target.metadata import Metadata, from_core_metadata

__all__ = ["installed_metadata", "open_installed"]

_LARGEST_CHECKED = 256 * 2**20


def installed_metadata(name: str) -> Metadata | None:
    """Return the metadata of an installed distribution, or ``None``."""
    try:
        found = metadata.distribution(name)
        text = found.read_text("METADATA") or found.read_text("PKG-INFO") or ""
    except (metadata.PackageNotFoundError, ValueError, OSError):
        return None
    return from_core_metadata(text.encode("utf-8", "replace"), name)


def open_installed(name: str, limits: Limits) -> Target:
    """Read the files of an installed distribution and compare them with its ``RECORD``.

    Raises:
        AuditError: There is no installed distribution of that name.
    """
    known = installed_metadata(name)
    if known is None:
        raise AuditError(
            f"{name!r} is neither a path nor installed for {sys.executable}. Give a name from "
            "pip list, a folder, a .whl or a .tar.gz."
        )
    found = metadata.distribution(name)
    root = Path(str(found.locate_file(""))).resolve()
    project = _editable_folder(found)
    if project is not None:
        target = Target("editable", str(project), known, [])
        walk(project, target, limits)
        return target
    target = Target("installed", str(root), known, [])
    for row in csv.reader((found.read_text("RECORD") or "").splitlines()):
        if row and len(target.members) < limits.files:
            _add(row, root, target)
    if not target.members:
        target.incomplete.append("the distribution has no RECORD of its files")
    return target


def _editable_folder(found: metadata.Distribution) -> Path | None:
    try:
        origin = json.loads(found.read_text("direct_url.json") or "{}")
        if not origin.get("dir_info", {}).get("editable"):
            return None
        path = Path(urllib.parse.unquote(urllib.parse.urlsplit(origin["url"]).path))
    except (ValueError, KeyError, AttributeError, TypeError):
        return None
    return path if path.is_dir() else None


def _add(row: list[str], root: Path, target: Target) -> None:
    """Add the file of one row of ``RECORD``, unless it is outside this Python's folders."""
    relative = row[0]
    path = root / relative
    if "__pycache__" in Path(relative).parts:
        return
    resolved = path.resolve()
    if not any(resolved.is_relative_to(Path(top).resolve()) for top in (root, sys.prefix)):
        detail = "RECORD names a file outside this Python's folders; it was not read"
        target.findings.append(make_finding("unscanned-file", relative, message=detail))
    elif not resolved.is_file():
        target.findings.append(make_finding("changed-file", relative, message="is missing"))
    else:
        size = resolved.stat().st_size
        target.members.append(Member(relative, size, file_reader(resolved)))
        if len(row) > 1 and not _matches(resolved, row[1], size):
            target.findings.append(make_finding("changed-file", relative, message="another hash"))


def _matches(path: Path, recorded: str, size: int) -> bool:
    algorithm, _, digest = recorded.partition("=")
    if algorithm not in {"sha256", "sha384", "sha512"} or size > _LARGEST_CHECKED:
        return True
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, algorithm).digest()
    return base64.urlsafe_b64encode(actual).rstrip(b"=").decode() == digest
