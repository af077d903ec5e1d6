"""Runs bandit, for problems that Ludus has no own rules for."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ludus.audit.child import run_limited
from ludus.audit.limits import Limits
from ludus.audit.rules import SEVERITIES, make_finding
from ludus.distribution import pip_install
from ludus.errors import DependencyNotInstalled
from ludus.findings import Finding

__all__ = ["run_bandit"]

_COVERED = "B103,B310,B312,B321,B404,B602,B603,B604,B605,B606,B607"
"""Checks of bandit that are replaced by Ludus's rules, which also follow aliases."""
_RUNS_CODE = {"B102", "B301", "B302", "B307", "B506", "B614"}
"""exec, eval, pickle, marshal, unsafe YAML and torch.load.

Their severity is medium in bandit, and high here, because audited code is not trusted.
"""


def run_bandit(sources: dict[str, bytes], limits: Limits) -> tuple[list[Finding], str | None]:
    """Return bandit's findings, and an error message or ``None``.

    bandit gets copies with neutral names, so that neither file names nor configuration files of the
    package affect it. It ignores ``# nosec`` comments.

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
        command += ["--ignore-nosec", "--skip", _COVERED]
        try:
            done = run_limited(command, seconds=limits.bandit_seconds, memory=limits.memory)
            report = json.loads(done.stdout)
            results, errors = report["results"], report["errors"]
        except subprocess.TimeoutExpired:
            return [], f"bandit took longer than {limits.bandit_seconds:g} seconds"
        except (ValueError, KeyError, TypeError, OSError) as problem:
            return [], f"bandit failed: {problem}"
    found = [_finding(result, paths) for result in results]
    unread = f"bandit could not read {len(errors)} files" if errors else None
    return [item for item in found if item is not None], unread


def _finding(result: dict[str, Any], paths: dict[str, str]) -> Finding | None:
    path = paths.get(Path(str(result["filename"])).name)
    test, severity = str(result["test_id"]), str(result["issue_severity"]).lower()
    if path is None or severity not in SEVERITIES:
        return None
    severe = "high" if test in _RUNS_CODE else severity
    return make_finding(
        f"bandit:{test}", path, int(result["line_number"]), result["issue_text"], severe
    )
