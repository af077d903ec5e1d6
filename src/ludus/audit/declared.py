"""Comparison of declared permissions with the behaviour of the code."""

from __future__ import annotations

from typing import Any

from ludus.audit.rules import make_finding
from ludus.audit.scanning import Scan
from ludus.distribution import DISTRIBUTION
from ludus.findings import Finding

__all__ = ["compare_declarations"]


def compare_declarations(scan: Scan, name: str) -> list[Finding]:
    """Find code that uses permissions which no environment of the package declares.

    A package without environments has no declarations to compare with. Which code belongs to which
    environment is not known, so a declaration covers the whole package.
    """
    readable = [spec for spec in scan.specs if isinstance(spec.get("security"), dict)]
    findings = [
        make_finding("unreadable-declaration", spec["path"], _line(spec), str(spec.get("id") or ""))
        for spec in scan.specs
        if spec not in readable
    ]
    for spec in readable:
        if spec["security"].get("trust") == "builtin" and name != DISTRIBUTION:
            detail = str(spec.get("id") or "")
            findings.append(make_finding("claims-builtin", spec["path"], _line(spec), detail))
    # A declaration that cannot be read could declare anything.
    if not readable or len(readable) < len(scan.specs):
        return findings
    declared = [spec["security"] for spec in readable]
    if all(security.get("network", "none") == "none" for security in declared):
        findings += _undeclared("undeclared-network", "network", scan)
    if not any(security.get("subprocess", False) for security in declared):
        findings += _undeclared("undeclared-subprocess", "subprocess", scan)
    allowed = tuple(str(path) for security in declared for path in security.get("filesystem", ()))
    for finding in scan.findings:
        if finding.rule == "file-read-outside" and not _is_below(finding.message, allowed):
            findings.append(
                make_finding("undeclared-file", finding.path, finding.line, finding.message)
            )
    return findings


def _undeclared(rule: str, about: str, scan: Scan) -> list[Finding]:
    return [
        make_finding(rule, finding.path, finding.line, finding.message)
        for finding in scan.findings
        if finding.rule == about
    ]


def _is_below(path: str, allowed: tuple[str, ...]) -> bool:
    return any(path == top or path.startswith(top.rstrip("/") + "/") for top in allowed)


def _line(spec: dict[str, Any]) -> int:
    return spec["line"] if isinstance(spec.get("line"), int) else 0
