"""A bill of materials in CycloneDX 1.6: components, hashes, licences and who needs whom."""

from __future__ import annotations

import datetime
import json
import os
import uuid
from typing import Any

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from ludus.audit.dependencies import Component
from ludus.audit.findings import printable
from ludus.audit.report import AuditReport
from ludus.version import __version__

__all__ = ["to_cyclonedx"]


def to_cyclonedx(report: AuditReport) -> dict[str, Any]:
    """Return the bill of materials as JSON's data.

    The same report gives the same serial number. ``SOURCE_DATE_EPOCH`` sets the time, for builds
    that can be repeated.
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
    # "+" of a local version means a blank in an address.
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
