"""Machine-readable reports: SARIF 2.1.0 and a CycloneDX 1.6 bill of materials."""

from __future__ import annotations

import datetime
import json
import os
import urllib.parse
import uuid
from typing import Any

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from ludus.audit.dependencies import Component
from ludus.audit.report import AuditReport
from ludus.audit.rules import BOOK, RULES, order
from ludus.findings import Finding
from ludus.terminal_text import printable
from ludus.version import __version__

__all__ = ["to_cyclonedx", "to_sarif"]

_LEVELS = {"low": "note", "medium": "warning", "high": "error"}


def to_sarif(report: AuditReport) -> dict[str, Any]:
    """Return a report in SARIF; accepted findings are marked as suppressed."""
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


def to_cyclonedx(report: AuditReport) -> dict[str, Any]:
    """Return the bill of materials of an audited package.

    The same report gives the same serial number. ``SOURCE_DATE_EPOCH`` sets the timestamp, for
    reproducible builds.
    """
    root, *others = report.components
    refs = {component.key: _ref(component) for component in report.components}
    main = _component(root)
    if report.target.sha256 is not None:
        main["hashes"] = [{"alg": "SHA-256", "content": report.target.sha256}]
    bill: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": _now(),
            "tools": {
                "components": [
                    {"type": "application", "name": "ludus audit", "version": __version__}
                ]
            },
            "component": main,
        },
        "components": [_component(component) for component in others],
        "dependencies": [
            {
                "ref": refs[component.key],
                "dependsOn": sorted({refs[key] for key in component.requires if key in refs}),
            }
            for component in report.components
        ],
    }
    if report.vulnerabilities:
        bill["vulnerabilities"] = [
            {
                "bom-ref": f"vulnerability-{number}",
                "id": item.id,
                "description": item.summary,
                "affects": [{"ref": refs[item.component]}],
            }
            for number, item in enumerate(report.vulnerabilities)
        ]
    content = json.dumps(bill, sort_keys=True)
    serial = uuid.uuid5(uuid.NAMESPACE_URL, content)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "serialNumber": serial.urn,
        **bill,
    }


def _now() -> str:
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        moment = datetime.datetime.fromtimestamp(int(epoch), datetime.UTC) if epoch else None
    except (ValueError, OverflowError):
        moment = None
    moment = moment or datetime.datetime.now(datetime.UTC)
    return moment.replace(microsecond=0).isoformat()


def _ref(component: Component) -> str:
    version = f"@{component.version}" if component.version else ""
    # A "+" in a URL would be read as a blank.
    return f"pkg:pypi/{component.key}{version.replace('+', '%2B').replace('!', '%21')}"


def _component(component: Component) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "type": "library",
        "bom-ref": _ref(component),
        "name": component.key,
        "purl": _ref(component),
        "properties": [{"name": "ludus:source", "value": component.source}],
    }
    if component.version:
        entry["version"] = component.version
    if component.licence:
        entry["licenses"] = [_licence(component.licence)]
    return entry


def _licence(licence: str) -> dict[str, Any]:
    try:
        return {"expression": canonicalize_license_expression(licence)}
    except (InvalidLicenseExpression, RecursionError):
        return {"license": {"name": printable(licence)}}
