"""``ludus audit``: inspect a package before installing it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ludus.audit import (
    RULES,
    Acceptance,
    AuditError,
    AuditReport,
    Exclusion,
    Finding,
    Settings,
    audit,
    to_cyclonedx,
    to_sarif,
)
from ludus.audit.rules import SEVERITIES, Severity
from ludus.audit.settings import IGNORED
from ludus.cli.console import echo, failing_on, make_table, out, page
from ludus.cli.options import Several
from ludus.terminal_text import printable

__all__ = ["run"]

_COLOURS = {"low": "cyan", "medium": "yellow", "high": "red"}


Package = Annotated[
    str, typer.Argument(help="Name of an installed package, or a folder, wheel or sdist.")
]
Format = Annotated[Literal["table", "json", "sarif"], typer.Option(help="Format of the report.")]
Output = Annotated[Path | None, typer.Option(help="Write the report to this file.")]
Sbom = Annotated[
    Path | None, typer.Option(help="Write a CycloneDX bill of materials to this file.")
]
FailOn = Annotated[
    Literal["low", "medium", "high"] | None,
    typer.Option(help="Lowest severity that fails the audit.", show_default="high"),
]
Show = Annotated[Literal["low", "medium", "high"], typer.Option(help="Lowest severity to list.")]
Config = Annotated[
    Path | None, typer.Option(help="Your own TOML file with a table \\[tool.ludus.audit].")
]
Ignore = Annotated[Several, typer.Option(help="Rule to ignore; repeatable.")]
Exclude = Annotated[Several, typer.Option(help="Glob pattern of files to skip; repeatable.")]
Extra = Annotated[Several, typer.Option(help="Extra whose dependencies are included; repeatable.")]
AllowLicence = Annotated[
    Several, typer.Option(help="Allowed SPDX licence; all others fail. Repeatable.")
]
DenyLicence = Annotated[Several, typer.Option(help="Denied SPDX licence; repeatable.")]
Advisories = Annotated[Path | None, typer.Option(help="Folder or zip of OSV JSON files.")]
Offline = Annotated[bool, typer.Option("--offline", help="Do not query a vulnerability service.")]
Service = Annotated[
    Literal["pypi", "osv"], typer.Option(help="Vulnerability service for pip-audit.")
]
OsvUrl = Annotated[str | None, typer.Option(help="URL for --service osv.")]
Timeout = Annotated[float, typer.Option(min=1, help="Seconds to wait for the service.")]
Require = Annotated[
    Several,
    typer.Option(help="Check that must not be skipped: vulnerabilities or bandit; repeatable."),
]


def run(
    package: Package,
    format: Format = "table",
    output: Output = None,
    sbom: Sbom = None,
    fail_on: FailOn = None,
    show: Show = "low",
    config: Config = None,
    ignore: Ignore = None,
    exclude: Exclude = None,
    extra: Extra = None,
    allow_licence: AllowLicence = None,
    deny_licence: DenyLicence = None,
    advisories: Advisories = None,
    offline: Offline = False,
    service: Service = "pypi",
    osv_url: OsvUrl = None,
    timeout: Timeout = 30.0,
    require: Require = None,
) -> None:
    """Inspect a package for dangerous code, vulnerabilities and licences, without running it.

    Audit a wheel before you install it:

        pip download --no-deps some-package; ludus audit some_package-1.0-py3-none-any.whl

    Accept findings with --ignore RULE, or with a reason in a file given by --config. Comments in
    the package, such as # nosec, are ignored.

    Exit code 0 if there is no finding at or above --fail-on, 1 if there is one, 2 for wrong usage
    or an unknown package, 3 if there is no finding but a required check was not possible.
    """
    from ludus.audit.settings_file import read_settings

    with failing_on(AuditError, OSError, most=1000):
        base = Settings() if config is None else read_settings(config)
        settings = replace(
            base,
            fail_on=fail_on or base.fail_on,
            accept=(*base.accept, *(Acceptance(rule, "*", IGNORED) for rule in ignore or ())),
            exclude=(*base.exclude, *(Exclusion(path, IGNORED) for path in exclude or ())),
            extras=(*base.extras, *(extra or ())),
            allow_licences=(*base.allow_licences, *(allow_licence or ())),
            deny_licences=(*base.deny_licences, *(deny_licence or ())),
            require=(*base.require, *(require or ())),
            advisories=advisories,
            offline=offline,
            service=service,
            osv_url=osv_url,
            seconds=timeout,
        )
        report = audit(package, settings)
    with failing_on(OSError):
        if sbom is not None:
            sbom.write_text(json.dumps(to_cyclonedx(report), indent=2) + "\n", encoding="utf-8")
        _write(report, format, show, output)
    raise typer.Exit(report.exit_code)


def _write(report: AuditReport, format: str, show: Severity, output: Path | None) -> None:
    if format == "table":
        if output is None:
            out.print(_page(report, show))
            return
        with output.open("w", encoding="utf-8") as file:
            page(file, width=120).print(_page(report, show))
        return
    data = report.to_dict() if format == "json" else to_sarif(report)
    text = json.dumps(data, indent=2)
    if output is None:
        echo(text)
    else:
        output.write_text(text + "\n", encoding="utf-8")


def _page(report: AuditReport, show: Severity) -> RenderableType:
    """Return the report as tables; all of it is plain text, not markup."""
    root = report.components[0]
    title = f"{root.key} {root.version or '(version unknown)'}, {report.target.kind}"
    parts: list[RenderableType] = [Text(title, style="bold"), _components(report)]
    least = SEVERITIES.index(show)
    listed = [item for item in report.open_findings if SEVERITIES.index(item.severity) >= least]
    if listed:
        parts += [_findings(listed), _explanations(listed)]
    accepted = sum(item.accepted is not None for item in report.findings)
    hidden = len(report.open_findings) - len(listed)
    parts.append(Text(f"{accepted} findings are accepted, {hidden} below {show} not listed."))
    for check in report.checks:
        note = f" ({check.note})" if check.note else ""
        style = "" if check.state == "checked" else "yellow"
        parts.append(Text(f"{check.name}: {check.state}{note}", style=style))
    parts.append(_verdict(report))
    return Group(*parts)


def _components(report: AuditReport) -> Table:
    count = len(report.components)
    table = make_table(f"{count} components", "name", "version", "from", "licence")
    for item in report.components:
        cells = (item.key, item.version or "?", item.source, item.licence or "unknown")
        table.add_row(*(Text(printable(cell, 80)) for cell in cells))
    return table


def _findings(listed: list[Finding]) -> Table:
    table = make_table(f"{len(listed)} findings", "severity", "rule", "where", "what")
    for item in listed:
        severity = Text(item.severity, style=_COLOURS[item.severity])
        table.add_row(severity, Text(item.rule), Text(item.place), Text(item.message))
    return table


def _explanations(listed: list[Finding]) -> Table:
    table = make_table("What they mean", "rule", "meaning", "what to do")
    for key in sorted({item.rule.partition(":")[0] for item in listed}):
        table.add_row(Text(key), Text(RULES[key].meaning), Text(RULES[key].advice))
    return table


def _verdict(report: AuditReport) -> Text:
    least = report.report.fail_on
    if report.failing:
        count = len(report.failing)
        return Text(f"{count} findings of severity {least} or above.", style="bold red")
    if report.missing:
        names = ", ".join(check.name for check in report.missing)
        return Text(f"Incomplete: required but not checked: {names}.", style="bold yellow")
    return Text(f"No finding of severity {least} or above.", style="bold green")
