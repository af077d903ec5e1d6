"""Settings of an audit."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, field
from pathlib import Path

from ludus.audit.limits import AuditError, Limits
from ludus.audit.rules import RULES, SEVERITIES, Severity
from ludus.findings import Finding

__all__ = ["IGNORED", "REQUIRABLE", "Acceptance", "Exclusion", "Settings"]

REQUIRABLE = ("bandit", "vulnerabilities")
"""Checks that ``require`` can make mandatory."""

IGNORED = "ignored on the command line"
"""Reason of acceptances that may match nothing."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Accepts the findings of a rule in files that match a pattern, for a reason."""

    rule: str
    path: str = "*"
    reason: str = ""

    def covers(self, finding: Finding) -> bool:
        """Return whether it applies to a finding."""
        return self.rule == finding.rule and fnmatch.fnmatchcase(finding.path, self.path)


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Excludes files from the audit, for a reason."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of an audit; nothing is read from the audited package."""

    fail_on: Severity = "high"
    accept: tuple[Acceptance, ...] = ()
    exclude: tuple[Exclusion, ...] = ()
    extras: tuple[str, ...] = ()
    allow_licences: tuple[str, ...] = ()
    deny_licences: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    advisories: Path | None = None
    offline: bool = False
    service: str = "pypi"
    osv_url: str | None = None
    seconds: float = 30.0
    """Time limit for querying a vulnerability service."""
    bandit: bool = True
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.fail_on not in SEVERITIES:
            raise AuditError(f"fail-on is {self.fail_on!r}; expected one of {SEVERITIES}.")
        for check in self.require:
            if check not in REQUIRABLE:
                raise AuditError(f"{check!r} cannot be required; expected one of {REQUIRABLE}.")
        for item in self.accept:
            if item.rule.partition(":")[0] not in RULES:
                raise AuditError(
                    f"There is no rule {item.rule!r}. Rules: {', '.join(sorted(RULES))}."
                )
