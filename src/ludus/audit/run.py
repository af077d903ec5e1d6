"""The audit: runs all checks and returns a report."""

from __future__ import annotations

import dataclasses
import fnmatch

from ludus.audit.advisories import Outcome, Vulnerability, check_advisories, check_index
from ludus.audit.bandit import run_bandit
from ludus.audit.declared import compare_declarations
from ludus.audit.dependencies import Component, closure
from ludus.audit.files import check_files, is_python
from ludus.audit.licences import check_licences
from ludus.audit.report import AuditReport, Check, State
from ludus.audit.rules import BOOK, make_finding
from ludus.audit.scanning import Scan, scan_sources
from ludus.audit.settings import IGNORED, Settings
from ludus.audit.target import Member, Target, open_target
from ludus.errors import DependencyNotInstalled
from ludus.findings import Finding
from ludus.terminal_text import printable

__all__ = ["audit"]


def audit(package: str, settings: Settings | None = None) -> AuditReport:
    """Audit an installed distribution, a folder, a wheel or an sdist, without running it.

    Args:
        package: A path, or the name of an installed distribution.
        settings: Checks to make and findings to accept; the package cannot change them.

    Raises:
        AuditError: The package, or a file named in the settings, cannot be found or read.
    """
    settings = settings or Settings()
    target = open_target(package, settings.limits)
    members = _included(target.members, settings)
    components, findings = closure(target.metadata, settings.extras, settings.limits)
    findings += target.findings
    findings += check_licences(components, settings.allow_licences, settings.deny_licences)
    findings += check_files(target, members, settings.limits)
    scan = scan_sources([item for item in members if is_python(item)], settings.limits)
    findings += scan.findings
    findings += compare_declarations(scan, target.metadata.key)
    checks = [_files_check(target, scan, members)]
    checks.append(_bandit_check(scan, findings, settings))
    # The project in a folder is not a release, so its name is not sent to a service.
    asked = components[1:] if target.kind in ("folder", "editable") else components
    outcome = _vulnerabilities(asked, settings)
    findings += map(_vulnerability_finding, outcome.found)
    checks.append(_vulnerability_check(outcome, len(asked), target.metadata.problems))
    found = _accepted(list(dict.fromkeys(findings)), settings, checks)
    report = BOOK.report(target.location, found, fail_on=settings.fail_on)
    return AuditReport(target, components, report, checks, outcome.found, require=settings.require)


def _included(members: list[Member], settings: Settings) -> list[Member]:
    return [
        member
        for member in members
        if not any(fnmatch.fnmatchcase(member.path, item.path) for item in settings.exclude)
    ]


def _files_check(target: Target, scan: Scan, members: list[Member]) -> Check:
    problems = [*target.incomplete, *scan.incomplete]
    if problems:
        return Check("files", "partly checked", printable("; ".join(problems)))
    left_out = len(target.members) - len(members)
    note = f"{len(members)} files, {len(scan.sources)} of them Python"
    return Check("files", "checked", f"{note}; {left_out} excluded" if left_out else note)


def _bandit_check(scan: Scan, findings: list[Finding], settings: Settings) -> Check:
    if not settings.bandit:
        return Check("bandit", "not checked", "disabled in the settings")
    try:
        found, problem = run_bandit(scan.sources, settings.limits)
    except DependencyNotInstalled as missing:
        return Check("bandit", "not checked", str(missing))
    findings += found
    if problem is not None:
        return Check("bandit", "partly checked", printable(problem))
    return Check("bandit", "checked")


def _vulnerabilities(asked: list[Component], settings: Settings) -> Outcome:
    if settings.advisories is not None:
        return check_advisories(asked, settings.advisories)
    if settings.offline:
        reason = "offline, and no --advisories given"
        return Outcome("none", unchecked={item.key: reason for item in asked})
    return check_index(
        asked,
        service="osv" if settings.service == "osv" else "pypi",
        url=settings.osv_url,
        seconds=settings.seconds,
    )


def _vulnerability_finding(item: Vulnerability) -> Finding:
    fixed = f"fixed in {', '.join(item.fixed)}" if item.fixed else "no fix known"
    detail = f"{item.id} ({fixed}): {item.summary}"
    return make_finding(
        "vulnerability", f"{item.component} {item.version}", message=detail, severity=item.severity
    )


def _vulnerability_check(outcome: Outcome, asked: int, problems: tuple[str, ...]) -> Check:
    """Return the state of the check; unreadable metadata may hide components."""
    missed = outcome.unchecked
    if not missed and not problems:
        return Check("vulnerabilities", "checked", outcome.by if asked else "no dependencies")
    first, *others = [*problems, *sorted(set(missed.values()))]
    note = f"{len(missed)} of {asked} components: {first}" if missed else first
    if others:
        note += f" (and {len(others)} other reasons)"
    state: State = "partly checked" if len(missed) < asked else "not checked"
    return Check("vulnerabilities", state, printable(note))


def _accepted(findings: list[Finding], settings: Settings, checks: list[Check]) -> list[Finding]:
    """Mark accepted findings; an acceptance that matches nothing is a finding itself.

    Acceptances for a check that was not completed are exempt.
    """
    missed = {check.name for check in checks if check.state != "checked"}
    undecided = {"bandit": "bandit", "vulnerability": "vulnerabilities"}
    used = set()
    marked = []
    for finding in findings:
        for item in settings.accept:
            if item.covers(finding):
                used.add(item)
                finding = dataclasses.replace(finding, accepted=item.reason)
                break
        marked.append(finding)
    marked += [
        make_finding("stale-acceptance", "configuration", message=f"{item.rule} in {item.path}")
        for item in settings.accept
        if item not in used
        and item.reason != IGNORED
        and undecided.get(item.rule.partition(":")[0]) not in missed
    ]
    return marked
