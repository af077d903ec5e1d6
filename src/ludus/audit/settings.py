"""What the auditor wants to be checked, and what they accept."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, field
from pathlib import Path

from ludus.audit.limits import Limits
from ludus.audit.problems import AuditError
from ludus.audit.rules import RULES, SEVERITIES, Severity
from ludus.findings import Finding

__all__ = ["IGNORED", "REQUIRABLE", "Acceptance", "Exclusion", "Settings"]

REQUIRABLE = ("bandit", "vulnerabilities")
"""Checks whose absence ``require`` turns into a failure."""

IGNORED = "ignored on the command line"
"""The reason of acceptances that need not fit anything."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Findings of a rule, in files that match a pattern, that the auditor lives with, and why."""

    rule: str
    path: str = "*"
    reason: str = ""

    def covers(self, finding: Finding) -> bool:
        """Whether it is about this finding."""
        return self.rule == finding.rule and fnmatch.fnmatchcase(finding.path, self.path)


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Files that are not part of what is installed, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Settings:
    """How to audit. Every acceptance has a reason; nothing comes from the audited package."""

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
    """For asking an index."""
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
                raise AuditError(f"{item.rule!r} is no rule. Rules: {', '.join(sorted(RULES))}.")
