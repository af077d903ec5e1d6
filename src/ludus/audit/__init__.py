"""Audits of packages before they are trusted: code, dependencies, licences, bill of materials.

Nothing of an audited package is imported or run::

    from ludus.audit import audit

    report = audit("some_package-1.0-py3-none-any.whl")
    for finding in report.open_findings:
        print(finding.severity, finding.place, finding.rule, finding.detail)
"""

from __future__ import annotations

from ludus.audit.findings import Finding
from ludus.audit.limits import Limits
from ludus.audit.problems import AuditError
from ludus.audit.report import Check, Report
from ludus.audit.rules import RULES, Rule
from ludus.audit.run import audit
from ludus.audit.sarif import to_sarif
from ludus.audit.sbom import to_cyclonedx
from ludus.audit.settings import Acceptance, Exclusion, Settings, read_settings

__all__ = [
    "RULES",
    "Acceptance",
    "AuditError",
    "Check",
    "Exclusion",
    "Finding",
    "Limits",
    "Report",
    "Rule",
    "Settings",
    "audit",
    "read_settings",
    "to_cyclonedx",
    "to_sarif",
]
