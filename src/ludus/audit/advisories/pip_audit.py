"""Search for vulnerabilities by pip-audit, with a time limit.

pip-audit reports success if a mirror answers "not found". So each query includes a release that is
known to be vulnerable; if that is reported as clean, nothing was checked.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Literal

from packaging.utils import canonicalize_name

from ludus.audit.advisories.outcome import Outcome, Vulnerability
from ludus.audit.child import run_limited
from ludus.audit.dependencies import Component
from ludus.distribution import pip_install
from ludus.terminal_text import printable

__all__ = ["Service", "check_index", "parse_answer"]

Service = Literal["pypi", "osv"]
_CANARIES = (("jinja2", "2.4.1"), ("pyyaml", "3.12"), ("requests", "2.19.0"))
_MISSING = f"pip-audit is not installed: {pip_install('audit')}"


def check_index(
    components: list[Component],
    *,
    service: Service = "pypi",
    url: str | None = None,
    seconds: float = 30.0,
) -> Outcome:
    """Query a service about components; after a failure they count as unchecked.

    Args:
        components: The components; those without a known version are not queried.
        service: PyPI's advisories or OSV's.
        url: URL of OSV's API, if not the public one.
        seconds: Time limit.
    """
    outcome = Outcome(f"pip-audit ({service})")
    asked = {}
    for component in components:
        if component.version is None:
            outcome.unchecked[component.key] = "its version is not known"
        else:
            asked[component.key] = component.version
    canary = next(pair for pair in _CANARIES if pair[0] not in asked)
    if importlib.util.find_spec("pip_audit") is None:
        answer: Any = _MISSING
    elif asked:
        answer = _ask({**asked, canary[0]: canary[1]}, service, url, seconds)
    else:
        return outcome
    if isinstance(answer, str):
        outcome.unchecked.update(dict.fromkeys(asked, answer))
        return outcome
    parse_answer(answer, asked, outcome)
    if not any(item.component == canary[0] for item in outcome.found):
        reason = f"the service has no advisories: it reports none for {canary[0]} {canary[1]}"
        outcome.unchecked.update(dict.fromkeys(asked, reason))
    outcome.found = [item for item in outcome.found if item.component in asked]
    outcome.unchecked.pop(canary[0], None)
    return outcome


def _ask(pins: dict[str, str], service: Service, url: str | None, seconds: float) -> Any:
    """Return pip-audit's answer, or a string with the reason why there is none."""
    with tempfile.TemporaryDirectory(prefix="ludus-audit-") as folder:
        requirements = Path(folder, "requirements.txt")
        requirements.write_text("".join(f"{name}=={pins[name]}\n" for name in sorted(pins)))
        command = [sys.executable, "-I", "-m", "pip_audit", "--requirement", str(requirements)]
        command += ["--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off"]
        command += ["--vulnerability-service", service, "--timeout", str(max(1, int(seconds / 3)))]
        command += ["--cache-dir", str(Path(folder, "cache"))]
        if url is not None:
            command += ["--osv-url", url]
        try:
            done = run_limited(command, seconds=seconds)
        except subprocess.TimeoutExpired:
            return f"pip-audit did not finish within {seconds:g} seconds"
        except OSError as problem:
            return f"pip-audit cannot be started: {problem}"
    try:
        # Exit code 1 means that vulnerabilities were found.
        answer = json.loads(done.stdout)
        if done.returncode in (0, 1) and isinstance(answer["dependencies"], list):
            return answer
    except (ValueError, KeyError, TypeError):
        pass
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"pip-audit failed: {printable(lines[-1] if lines else f'exit code {done.returncode}')}"


def parse_answer(answer: dict[str, Any], asked: dict[str, str], outcome: Outcome) -> None:
    """Read pip-audit's JSON; components without an answer count as unchecked."""
    answered = set()
    for item in answer["dependencies"]:
        key: str = canonicalize_name(str(item.get("name", "")))
        if "skip_reason" in item:
            outcome.unchecked[key] = printable(item["skip_reason"])
            continue
        answered.add(key)
        for found in item.get("vulns", []):
            outcome.found.append(
                Vulnerability(
                    key,
                    printable(item.get("version", "")),
                    printable(found["id"], 60),
                    tuple(printable(alias, 60) for alias in found.get("aliases", [])[:20]),
                    printable(found.get("description", "")),
                    tuple(printable(version, 40) for version in found.get("fix_versions", [])),
                )
            )
    for key in asked:
        if key not in answered:
            outcome.unchecked.setdefault(key, "the service gave no answer about it")
