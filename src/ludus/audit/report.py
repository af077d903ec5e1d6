"""The result of an audit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ludus.audit.advisories import Vulnerability
from ludus.audit.dependencies import Component
from ludus.audit.rules import order, to_dict
from ludus.audit.target import Target
from ludus.findings import Finding, Report

__all__ = ["CLEAN", "FOUND", "INCOMPLETE", "AuditReport", "Check", "State"]

CLEAN, FOUND, INCOMPLETE = 0, 1, 3
"""Exit codes; 2 is wrong usage."""

State = Literal["checked", "partly checked", "not checked"]


@dataclass(frozen=True, slots=True)
class Check:
    """State of one of the checks; ``note`` has the tool, or the reason why it was not made."""

    name: str
    state: State
    note: str = ""


@dataclass(slots=True)
class AuditReport:
    """Findings and components of an audit, and the state of its checks."""

    target: Target
    components: list[Component]
    report: Report
    checks: list[Check]
    vulnerabilities: list[Vulnerability] = field(default_factory=list)
    require: tuple[str, ...] = ()

    @property
    def findings(self) -> list[Finding]:
        """All findings, accepted ones included."""
        return list(self.report.findings)

    @property
    def open_findings(self) -> list[Finding]:
        """The findings that are not accepted, most severe first."""
        return sorted(self.report.open, key=order)

    @property
    def failing(self) -> list[Finding]:
        """The open findings at or above the severity ``fail_on``."""
        return sorted(self.report.failing, key=order)

    @property
    def missing(self) -> list[Check]:
        """The required checks that were not completed; ``files`` is always required."""
        needed = {"files", *self.require}
        return [check for check in self.checks if check.name in needed and check.state != "checked"]

    @property
    def exit_code(self) -> int:
        """0 without failing findings, 1 with some, 3 without any but with a missing check."""
        if self.failing:
            return FOUND
        return INCOMPLETE if self.missing else CLEAN

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready data."""
        return {
            "package": self.components[0].key,
            "version": self.components[0].version,
            "kind": self.target.kind,
            "sha256": self.target.sha256,
            "exit_code": self.exit_code,
            "fail_on": self.report.fail_on,
            "counts": self.report.counts,
            "checks": {
                check.name: {"state": check.state, "note": check.note} for check in self.checks
            },
            "findings": [to_dict(item) for item in self.open_findings],
            "accepted": [to_dict(item) for item in self.findings if item.accepted is not None],
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
