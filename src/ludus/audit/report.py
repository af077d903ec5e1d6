"""The result of an audit."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

from ludus.audit.advisories import Vulnerability
from ludus.audit.dependencies import Component
from ludus.audit.findings import Finding
from ludus.audit.rules import SEVERITIES, Severity
from ludus.audit.target import Target

__all__ = ["CLEAN", "FOUND", "INCOMPLETE", "Check", "Report", "State"]

CLEAN, FOUND, INCOMPLETE = 0, 1, 3
"""Exit codes; 2 is a wrong call."""

State = Literal["checked", "partly checked", "not checked"]


@dataclass(frozen=True, slots=True)
class Check:
    """How far one of the checks came; ``note`` says by whom, or why not."""

    name: str
    state: State
    note: str = ""


@dataclass(slots=True)
class Report:
    """Everything an audit found out; ``checks`` says what it could not."""

    target: Target
    components: list[Component]
    findings: list[Finding]
    checks: list[Check]
    vulnerabilities: list[Vulnerability] = field(default_factory=list)
    fail_on: Severity = "high"
    require: tuple[str, ...] = ()

    @property
    def open_findings(self) -> list[Finding]:
        """The findings that nobody accepted, gravest first."""
        return sorted(
            (item for item in self.findings if item.accepted is None), key=lambda item: item.order
        )

    @property
    def failing(self) -> list[Finding]:
        """The open findings at or above the severity that counts."""
        least = SEVERITIES.index(self.fail_on)
        return [item for item in self.open_findings if SEVERITIES.index(item.severity) >= least]

    @property
    def missing(self) -> list[Check]:
        """The checks that were required, or always are, and did not come to their end."""
        needed = {"files", *self.require}
        return [check for check in self.checks if check.name in needed and check.state != "checked"]

    @property
    def exit_code(self) -> int:
        """0 clean, 1 something was found, 3 nothing was found but something was not checked."""
        if self.failing:
            return FOUND
        return INCOMPLETE if self.missing else CLEAN

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON's data."""
        counts = Counter(finding.severity for finding in self.open_findings)
        return {
            "package": self.components[0].key,
            "version": self.components[0].version,
            "kind": self.target.kind,
            "sha256": self.target.sha256,
            "exit_code": self.exit_code,
            "fail_on": self.fail_on,
            "counts": {severity: counts[severity] for severity in SEVERITIES},
            "checks": {
                check.name: {"state": check.state, "note": check.note} for check in self.checks
            },
            "findings": [finding.to_dict() for finding in self.open_findings],
            "accepted": [item.to_dict() for item in self.findings if item.accepted is not None],
            "components": [
                {
                    "name": component.key,
                    "version": component.version,
                    "source": component.source,
                    "licence": component.licence,
                    "requires": component.requires,
                }
                for component in self.components
            ],
        }
