"""bandit's checks, beside Ludus's own, where bandit is installed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ludus.audit.child import run_limited
from ludus.audit.findings import Finding
from ludus.audit.limits import Limits
from ludus.audit.rules import SEVERITIES
from ludus.distribution import pip_install
from ludus.errors import DependencyNotInstalled

__all__ = ["run_bandit"]

_SAME = {
    "B102": "dynamic-code",
    "B103": "file-write",
    "B301": "unpickling",
    "B302": "unpickling",
    "B307": "dynamic-code",
    "B310": "network",
    "B312": "network",
    "B321": "network",
    "B403": "unpickling",
    "B404": "subprocess",
    "B506": "unpickling",
    "B602": "subprocess",
    "B603": "subprocess",
    "B604": "subprocess",
    "B605": "subprocess",
    "B606": "subprocess",
    "B607": "subprocess",
    "B614": "unpickling",
}
"""bandit's checks that Ludus's rules cover, and by which."""


def run_bandit(
    sources: dict[str, bytes], own: list[Finding], limits: Limits
) -> tuple[list[Finding], str | None]:
    """Return what bandit finds beyond Ludus's own findings, and what went wrong, if anything.

    It sees copies under names of ours, so that neither a file's name nor a configuration inside the
    package reaches it, and is told to disregard ``# nosec``: the suspect does not grant pardons.

    Raises:
        DependencyNotInstalled: bandit is not installed.
    """
    if importlib.util.find_spec("bandit") is None:
        raise DependencyNotInstalled(f"bandit is not installed: {pip_install('audit')}")
    with tempfile.TemporaryDirectory(prefix="ludus-audit-") as folder:
        paths = {}
        for number, (path, content) in enumerate(sorted(sources.items())):
            name = f"{number:06}.py"
            Path(folder, name).write_bytes(content)
            paths[name] = path
        command = [sys.executable, "-I", "-m", "bandit", "-q", "-r", folder, "-f", "json"]
        try:
            done = run_limited(
                [*command, "--ignore-nosec"], seconds=limits.bandit_seconds, memory=limits.memory
            )
            report = json.loads(done.stdout)
            results, errors = report["results"], report["errors"]
        except subprocess.TimeoutExpired:
            return [], f"bandit took longer than {limits.bandit_seconds:g} seconds"
        except (ValueError, KeyError, TypeError, OSError) as problem:
            return [], f"bandit failed: {problem}"
    covered = {(finding.rule, finding.path): finding for finding in own}
    lines = {(finding.rule, finding.path, finding.line) for finding in own}
    found = [
        finding
        for result in results
        if (finding := _finding(result, paths)) is not None
        and not _is_known(finding, result, lines, covered)
    ]
    return found, f"bandit could not read {len(errors)} files" if errors else None


def _finding(result: dict[str, Any], paths: dict[str, str]) -> Finding | None:
    path = paths.get(Path(str(result["filename"])).name)
    severity = str(result["issue_severity"]).lower()
    if path is None or severity not in SEVERITIES:
        return None
    rule = f"bandit:{result['test_id']}"
    return Finding.of(rule, path, int(result["line_number"]), result["issue_text"], severity)


def _is_known(
    finding: Finding,
    result: dict[str, Any],
    lines: set[tuple[str, str, int]],
    covered: dict[tuple[str, str], Finding],
) -> bool:
    test = finding.rule.removeprefix("bandit:")
    rule = _SAME.get(test)
    if rule is None:
        return False
    if test in {"B403", "B404"}:
        # An import is only worth telling where no use of it was found.
        return (rule, finding.path) in covered
    span = [finding.line, *result.get("line_range", [])]
    return any((rule, finding.path, line) in lines for line in span)
