"""What looking for vulnerabilities came to."""

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
    """What was found, by whom, and what was not checked.

    ``unchecked`` gives a reason for each component that nothing is known about: that is not the
    same as a component without vulnerabilities.
    """

    by: str
    found: list[Vulnerability] = field(default_factory=list)
    unchecked: dict[str, str] = field(default_factory=dict)
