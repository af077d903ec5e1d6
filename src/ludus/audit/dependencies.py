"""Direct and transitive dependencies of a package."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from ludus.audit.limits import Limits
from ludus.audit.rules import make_finding
from ludus.audit.target import Metadata
from ludus.audit.target.installed import installed_metadata
from ludus.audit.target.metadata import normal_name
from ludus.findings import Finding
from ludus.terminal_text import printable

__all__ = ["Component", "closure"]

Source = Literal["audited", "installed", "declared"]


@dataclass(slots=True)
class Component:
    """The audited distribution or one of its dependencies.

    ``source`` is ``installed`` if a matching version is installed, else ``declared``; the version
    is then known only if it is pinned.
    """

    name: str
    version: str | None
    source: Source
    metadata: Metadata
    requires: list[str] = field(default_factory=list)
    licence: str | None = None

    @property
    def key(self) -> str:
        """The normalised name."""
        return normal_name(self.name)


def closure(
    root: Metadata, extras: Iterable[str], limits: Limits
) -> tuple[list[Component], list[Finding]]:
    """Return the package and its dependencies, breadth first, with findings about them.

    Requirements whose markers do not apply to this Python are skipped.
    """
    first = Component(root.name, _valid(root.version), "audited", root)
    components = {first.key: first}
    findings = [
        make_finding("invalid-metadata", printable(root.name), message=problem)
        for problem in root.problems
    ]
    done: set[tuple[str, frozenset[str]]] = set()
    pending = deque([(first, frozenset(canonicalize_name(extra) for extra in extras))])
    while pending and len(components) < limits.dependencies:
        component, wanted = pending.popleft()
        if (component.key, wanted) in done:
            continue
        done.add((component.key, wanted))
        for requirement in _requirements(component.metadata, wanted, findings):
            key = normal_name(requirement.name)
            if requirement.url:
                detail = f"{requirement.name} from {requirement.url}"
                findings.append(make_finding("direct-dependency", component.name, message=detail))
            if key not in components:
                components[key] = _component(requirement)
            if key not in component.requires and key != component.key:
                component.requires.append(key)
            needed = frozenset(canonicalize_name(extra) for extra in requirement.extras)
            pending.append((components[key], needed))
    return list(components.values()), findings


def _requirements(
    metadata: Metadata, extras: frozenset[str], findings: list[Finding]
) -> list[Requirement]:
    found = []
    for text in metadata.requires:
        try:
            requirement = Requirement(text)
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": e}) for e in ("", *extras)):
                found.append(requirement)
        except (InvalidRequirement, ValueError, RecursionError, LookupError) as problem:
            detail = f"requirement {text[:80]!r}: {problem}"
            findings.append(make_finding("invalid-metadata", metadata.name, message=detail))
    return found


def _component(requirement: Requirement) -> Component:
    installed = installed_metadata(requirement.name)
    if installed is not None:
        version = _valid(installed.version)
        if version is not None and requirement.specifier.contains(version, prereleases=True):
            return Component(requirement.name, version, "installed", installed)
    pins = [spec.version for spec in requirement.specifier if spec.operator in ("==", "===")]
    version = _valid(pins[0]) if len(pins) == 1 else None
    return Component(requirement.name, version, "declared", Metadata(requirement.name))


def _valid(version: str | None) -> str | None:
    try:
        return None if version is None else str(Version(version))
    except InvalidVersion:
        return None
