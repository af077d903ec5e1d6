"""Search for known vulnerabilities: in local OSV files, or in an online service by pip-audit.

Of a folder or zip of OSV files each file is one advisory (https://ossf.github.io/osv-schema/). The
fields used are ``id``, ``aliases``, ``summary``, ``withdrawn``, ``database_specific.severity`` and,
of each entry of ``affected`` whose ``package.ecosystem`` is ``PyPI``: ``package.name``,
``versions`` and ``ranges`` of type ``ECOSYSTEM`` with their ``introduced``, ``fixed`` and
``last_affected`` events.

pip-audit reports success if a mirror answers "not found". So each query includes a release that is
known to be vulnerable; if that is reported as clean, nothing was checked.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from ludus.audit.child import run_limited
from ludus.audit.dependencies import Component
from ludus.audit.limits import AuditError
from ludus.audit.rules import Severity
from ludus.distribution import pip_install
from ludus.terminal_text import printable

__all__ = ["Outcome", "Service", "Vulnerability", "check_advisories", "check_index", "parse_answer"]


@dataclass(frozen=True, slots=True)
class Vulnerability:
    """One advisory that applies to one component."""

    component: str
    version: str
    id: str
    aliases: tuple[str, ...] = ()
    summary: str = ""
    fixed: tuple[str, ...] = ()
    severity: Severity = "high"


@dataclass(slots=True)
class Outcome:
    """Vulnerabilities that were found, and components that were not checked.

    ``by`` names the source. ``unchecked`` has the reason for each component that was not checked.
    """

    by: str
    found: list[Vulnerability] = field(default_factory=list)
    unchecked: dict[str, str] = field(default_factory=dict)


def _known(components: list[Component], outcome: Outcome) -> dict[str, Component]:
    """Return the components whose version is known; the others are noted as unchecked."""
    unknown = [component.key for component in components if component.version is None]
    outcome.unchecked.update(dict.fromkeys(unknown, "its version is not known"))
    return {component.key: component for component in components if component.version is not None}


_LARGEST = 8 * 2**20
_SEVERITIES: dict[str, Severity] = {"LOW": "low", "MODERATE": "medium", "MEDIUM": "medium"}


def check_advisories(components: list[Component], path: Path) -> Outcome:
    """Match components with advisories, comparing versions by PEP 440.

    Raises:
        AuditError: The path is not a folder or zip, has no advisories, or an invalid one.
    """
    outcome = Outcome(f"advisories in {path}")
    wanted = {
        key: (component, Version(str(component.version)))
        for key, component in _known(components, outcome).items()
    }
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
        spans = [s["events"] for s in affected.get("ranges", []) if s.get("type") == "ECOSYSTEM"]
        if _is_affected(wanted[key][1], affected.get("versions", []), spans):
            fixed = [str(event["fixed"]) for span in spans for event in span if "fixed" in event]
            fixes.setdefault(key, []).extend(fixed)
    word = str(advisory.get("database_specific", {}).get("severity", "")).upper()
    for key, fixed in fixes.items():
        component = wanted[key][0]
        summary = advisory.get("summary") or advisory.get("details", "")
        severity = _SEVERITIES.get(word, "high")
        version = str(component.version)
        yield _vulnerability(component.key, version, advisory, summary, fixed, severity)


def _vulnerability(
    key: str,
    version: str,
    told: dict[str, Any],
    summary: str,
    fixed: list[str],
    severity: Severity = "high",
) -> Vulnerability:
    """Return what a service or a file told, as short lines."""
    return Vulnerability(
        key,
        version,
        printable(told["id"], 60),
        tuple(printable(alias, 60) for alias in told.get("aliases", [])[:20]),
        printable(summary),
        tuple(printable(version, 40) for version in fixed),
        severity,
    )


def _is_affected(version: Version, versions: list[Any], spans: list[list[dict[str, Any]]]) -> bool:
    listed = any(_version(text) == version for text in versions)
    return listed or any(_is_in_range(version, span) for span in spans)


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


Service = Literal["pypi", "osv"]
_CANARIES = (
    ("jinja2", "2.4.1"),
    ("pyyaml", "3.12"),
    ("requests", "2.19.0"),
    ("django", "2.0"),
    ("ansible", "2.0.0"),
)
_MISSING = f"pip-audit is not installed: {pip_install('audit')}"


def check_index(
    components: list[Component],
    *,
    service: Service = "pypi",
    url: str | None = None,
    seconds: float = 30.0,
) -> Outcome:
    """Query a service about components; after a failure they count as unchecked.

    Args:
        components: The components; those without a known version are not queried.
        service: PyPI's advisories or OSV's.
        url: URL of OSV's API, if not the public one.
        seconds: Time limit.
    """
    outcome = Outcome(f"pip-audit ({service})")
    known = _known(components, outcome)
    asked = {key: str(component.version) for key, component in known.items()}
    canary = next(pair for pair in _CANARIES if pair[0] not in asked)
    if importlib.util.find_spec("pip_audit") is None:
        answer: Any = _MISSING
    elif asked:
        answer = _ask({**asked, canary[0]: canary[1]}, service, url, seconds)
    else:
        return outcome
    if isinstance(answer, str):
        outcome.unchecked.update(dict.fromkeys(asked, answer))
        return outcome
    parse_answer(answer, asked, outcome)
    if not any(item.component == canary[0] for item in outcome.found):
        reason = f"the service has no advisories: it reports none for {canary[0]} {canary[1]}"
        outcome.unchecked.update(dict.fromkeys(asked, reason))
    outcome.found = [item for item in outcome.found if item.component in asked]
    outcome.unchecked.pop(canary[0], None)
    return outcome


def _ask(pins: dict[str, str], service: Service, url: str | None, seconds: float) -> Any:
    """Return pip-audit's answer, or a string with the reason why there is none."""
    with tempfile.TemporaryDirectory(prefix="ludus-audit-") as folder:
        requirements = Path(folder, "requirements.txt")
        requirements.write_text("".join(f"{name}=={pins[name]}\n" for name in sorted(pins)))
        command = [sys.executable, "-I", "-m", "pip_audit", "--requirement", str(requirements)]
        command += ["--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off"]
        command += ["--vulnerability-service", service, "--timeout", str(max(1, int(seconds / 3)))]
        command += ["--cache-dir", str(Path(folder, "cache"))]
        if url is not None:
            command += ["--osv-url", url]
        try:
            done = run_limited(command, seconds=seconds)
        except subprocess.TimeoutExpired:
            return f"pip-audit did not finish within {seconds:g} seconds"
        except OSError as problem:
            return f"pip-audit cannot be started: {problem}"
    try:
        # Exit code 1 means that vulnerabilities were found.
        answer = json.loads(done.stdout)
        if done.returncode in (0, 1) and isinstance(answer["dependencies"], list):
            return answer
    except (ValueError, KeyError, TypeError):
        pass
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"pip-audit failed: {printable(lines[-1] if lines else f'exit code {done.returncode}')}"


def parse_answer(answer: dict[str, Any], asked: dict[str, str], outcome: Outcome) -> None:
    """Read pip-audit's JSON; components without an answer count as unchecked."""
    answered = set()
    for item in answer["dependencies"]:
        key: str = canonicalize_name(str(item.get("name", "")))
        if "skip_reason" in item:
            outcome.unchecked[key] = printable(item["skip_reason"])
            continue
        answered.add(key)
        version = printable(item.get("version", ""))
        for found in item.get("vulns", []):
            told = found.get("description", ""), found.get("fix_versions", [])
            outcome.found.append(_vulnerability(key, version, found, *told))
    for key in asked:
        if key not in answered:
            outcome.unchecked.setdefault(key, "the service gave no answer about it")
