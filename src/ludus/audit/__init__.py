"""Audits of packages: code, dependencies, licences, vulnerabilities, bill of materials.

An audited package is never imported or run::

    from ludus.audit import audit

    report = audit("some_package-1.0-py3-none-any.whl")
    for finding in report.open_findings:
        print(finding.severity, finding.place, finding.rule, finding.message)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.audit.documents import to_cyclonedx, to_sarif
from ludus.audit.limits import AuditError, Limits
from ludus.audit.report import AuditReport, Check
from ludus.audit.rules import RULES
from ludus.audit.run import audit
from ludus.audit.settings import Acceptance, Exclusion, Settings
from ludus.findings import Finding, Rule
from ludus.lazy import lazy_names

if TYPE_CHECKING:
    from ludus.audit.settings_file import read_settings

__all__ = [
    "RULES",
    "Acceptance",
    "AuditError",
    "AuditReport",
    "Check",
    "Exclusion",
    "Finding",
    "Limits",
    "Rule",
    "Settings",
    "audit",
    "read_settings",
    "to_cyclonedx",
    "to_sarif",
]

__getattr__ = lazy_names(__name__, {"read_settings": "settings_file"})
