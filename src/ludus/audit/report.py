"""The result of an audit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ludus.audit.advisories import Vulnerability
from ludus.audit.dependencies import Component
from ludus.audit.findings import order, to_dict
from ludus.audit.target import Target
from ludus.findings import Finding, Report

__all__ = ["CLEAN", "FOUND", "INCOMPLETE", "AuditReport", "Check", "State"]

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
class AuditReport:
    """Everything an audit found out; ``checks`` says what it could not."""

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
        """The findings that nobody accepted, most severe first."""
        return sorted(self.report.open, key=order)

    @property
    def failing(self) -> list[Finding]:
        """The open findings at or above the severity that counts."""
        return sorted(self.report.failing, key=order)

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
