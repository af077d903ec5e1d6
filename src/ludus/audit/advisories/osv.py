"""Search for vulnerabilities in a folder or zip of OSV files.

Each file is one advisory (https://ossf.github.io/osv-schema/). The fields used are ``id``,
``aliases``, ``summary``, ``withdrawn``, ``database_specific.severity`` and, of each entry of
``affected`` whose ``package.ecosystem`` is ``PyPI``: ``package.name``, ``versions`` and ``ranges``
of type ``ECOSYSTEM`` with their ``introduced``, ``fixed`` and ``last_affected`` events.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from ludus.audit.advisories.outcome import Outcome, Vulnerability
from ludus.audit.dependencies import Component
from ludus.audit.limits import AuditError
from ludus.audit.rules import Severity
from ludus.terminal_text import printable

__all__ = ["check_advisories"]

_LARGEST = 8 * 2**20
_SEVERITIES: dict[str, Severity] = {"LOW": "low", "MODERATE": "medium", "MEDIUM": "medium"}


def check_advisories(components: list[Component], path: Path) -> Outcome:
    """Match components with advisories, comparing versions by PEP 440.

    Raises:
        AuditError: The path is not a folder or zip, has no advisories, or an invalid one.
    """
    outcome = Outcome(f"advisories in {path}")
    wanted: dict[str, tuple[Component, Version]] = {}
    for component in components:
        if component.version is None:
            outcome.unchecked[component.key] = "its version is not known"
        else:
            wanted[component.key] = (component, Version(component.version))
    count = 0
    for name, text in _documents(path):
        try:
            advisory = json.loads(text)
            count += 1
            if not advisory.get("withdrawn"):
                outcome.found += _matches(advisory, wanted)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
            # Skipping it would report affected components as clean.
            raise AuditError(f"{path}: {name} is not an OSV advisory: {problem}") from problem
    if not count:
        raise AuditError(
            f"{path} contains no advisories. Expected a folder or zip of OSV JSON files, such as "
            "OSV's all.zip of the ecosystem PyPI."
        )
    return outcome


def _documents(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.is_dir():
        for file in sorted(path.rglob("*.json")):
            if file.is_file():
                with file.open("rb") as stream:
                    yield file.name, stream.read(_LARGEST)
        return
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith(".json"):
                    with archive.open(name) as stream:
                        yield name, stream.read(_LARGEST)
    except (OSError, zipfile.BadZipFile) as problem:
        raise AuditError(f"{path} is neither a folder nor a zip of advisories: {problem}") from (
            problem
        )


def _matches(
    advisory: dict[str, Any], wanted: dict[str, tuple[Component, Version]]
) -> Iterator[Vulnerability]:
    fixes: dict[str, list[str]] = {}
    for affected in advisory["affected"]:
        package = affected.get("package", {})
        key: str = canonicalize_name(package.get("name", ""))
        if package.get("ecosystem") != "PyPI" or key not in wanted:
            continue
        if _is_affected(wanted[key][1], affected):
            fixed = [str(event["fixed"]) for event in _events(affected) if "fixed" in event]
            fixes.setdefault(key, []).extend(fixed)
    word = str(advisory.get("database_specific", {}).get("severity", "")).upper()
    for key, fixed in fixes.items():
        component = wanted[key][0]
        yield Vulnerability(
            component.key,
            str(component.version),
            printable(advisory["id"], 60),
            tuple(printable(alias, 60) for alias in advisory.get("aliases", [])[:20]),
            printable(advisory.get("summary") or advisory.get("details", "")),
            tuple(printable(version, 40) for version in fixed),
            _SEVERITIES.get(word, "high"),
        )


def _events(affected: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for span in affected.get("ranges", []):
        if span.get("type") == "ECOSYSTEM":
            yield from span["events"]


def _is_affected(version: Version, affected: dict[str, Any]) -> bool:
    if any(_version(text) == version for text in affected.get("versions", [])):
        return True
    return any(
        _is_in_range(version, span["events"])
        for span in affected.get("ranges", [])
        if span.get("type") == "ECOSYSTEM"
    )


def _is_in_range(version: Version, events: list[dict[str, Any]]) -> bool:
    """Return whether a version is in a range, by the algorithm of OSV's schema."""
    inside = False
    for at, kind in sorted(_marks(events), key=lambda mark: mark[0]):
        if kind == "introduced" and version >= at:
            inside = True
        elif (kind == "fixed" and version >= at) or (kind == "last_affected" and version > at):
            inside = False
    return inside


def _marks(events: list[dict[str, Any]]) -> Iterator[tuple[Version, str]]:
    for event in events:
        for kind in ("introduced", "fixed", "last_affected"):
            if kind in event:
                at = _version("0.dev0" if event[kind] == "0" else event[kind])
                if at is None:
                    raise ValueError(f"{event[kind]!r} is not a version")
                yield at, kind


def _version(text: Any) -> Version | None:
    try:
        return Version(str(text))
    except InvalidVersion:
        return None
