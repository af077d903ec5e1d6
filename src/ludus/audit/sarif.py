"""A report in SARIF 2.1.0, the format that code hosts show beside the lines."""

from __future__ import annotations

import urllib.parse
from typing import Any

from ludus.audit.findings import order
from ludus.audit.report import AuditReport
from ludus.audit.rules import BOOK, RULES
from ludus.findings import Finding
from ludus.version import __version__

__all__ = ["to_sarif"]

_LEVELS = {"low": "note", "medium": "warning", "high": "error"}


def to_sarif(report: AuditReport) -> dict[str, Any]:
    """Return the report as SARIF's data; accepted findings are marked as suppressed."""
    used = sorted({finding.rule.partition(":")[0] for finding in report.findings})
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "ludus audit",
                        "version": __version__,
                        "rules": [
                            {
                                "id": rule,
                                "shortDescription": {"text": RULES[rule].meaning},
                                "help": {"text": RULES[rule].advice},
                                "defaultConfiguration": {"level": _LEVELS[RULES[rule].severity]},
                            }
                            for rule in used
                        ],
                    }
                },
                "results": [_result(found) for found in sorted(report.findings, key=order)],
            }
        ],
    }


def _result(finding: Finding) -> dict[str, Any]:
    rule = BOOK.rule_of(finding)
    place: dict[str, Any] = {"artifactLocation": {"uri": urllib.parse.quote(finding.path)}}
    if finding.line:
        place["region"] = {"startLine": finding.line}
    result: dict[str, Any] = {
        "ruleId": rule.id,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{rule.meaning} {finding.message}".strip()},
        "locations": [{"physicalLocation": place}],
    }
    if finding.accepted is not None:
        result["suppressions"] = [{"kind": "external", "justification": finding.accepted}]
    return result
