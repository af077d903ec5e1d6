"""Result of the search for vulnerabilities."""

from __future__ import annotations

from dataclasses import dataclass, field

from ludus.audit.rules import Severity

__all__ = ["Outcome", "Vulnerability"]


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
