"""``ludus audit``: look into a package before trusting it."""

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
from ludus.cli.console import echo, fail, out, page
from ludus.terminal_text import printable

__all__ = ["run"]

_COLOURS = {"low": "cyan", "medium": "yellow", "high": "red"}
Several = list[str] | None


def run(
    package: Annotated[
        str, typer.Argument(help="An installed distribution, a folder, a wheel or an sdist.")
    ],
    format: Annotated[
        Literal["table", "json", "sarif"], typer.Option(help="How to report.")
    ] = "table",
    output: Annotated[Path | None, typer.Option(help="Write the report to this file.")] = None,
    sbom: Annotated[
        Path | None, typer.Option(help="Write a CycloneDX bill of materials to this file.")
    ] = None,
    fail_on: Annotated[
        Literal["low", "medium", "high"] | None,
        typer.Option(help="The least severity that counts.", show_default="high"),
    ] = None,
    show: Annotated[
        Literal["low", "medium", "high"], typer.Option(help="The least severity to list.")
    ] = "low",
    config: Annotated[
        Path | None,
        typer.Option(help="A TOML file of yours with a table \\[tool.ludus.audit]."),
    ] = None,
    ignore: Annotated[Several, typer.Option(help="A rule to leave out; repeatable.")] = None,
    exclude: Annotated[
        Several, typer.Option(help="Files to leave out, as a pattern; repeatable.")
    ] = None,
    extra: Annotated[
        Several, typer.Option(help="An extra whose dependencies count; repeatable.")
    ] = None,
    allow_licence: Annotated[
        Several, typer.Option(help="An SPDX licence; all others fail. Repeatable.")
    ] = None,
    deny_licence: Annotated[
        Several, typer.Option(help="An SPDX licence that fails; repeatable.")
    ] = None,
    advisories: Annotated[
        Path | None, typer.Option(help="OSV JSON files, in a folder or a zip.")
    ] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Ask no index.")] = False,
    service: Annotated[
        Literal["pypi", "osv"], typer.Option(help="Whose vulnerabilities pip-audit asks for.")
    ] = "pypi",
    osv_url: Annotated[str | None, typer.Option(help="Another address for --service osv.")] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds to wait for the index.")] = 30.0,
    require: Annotated[
        Several,
        typer.Option(help="vulnerabilities or bandit: fail if not checked; repeatable."),
    ] = None,
) -> None:
    """Look for dangerous code, vulnerabilities and licences, running nothing of the package.

    Audit a wheel before you install it:

        pip download --no-deps some-package; ludus audit some_package-1.0-py3-none-any.whl

    Findings are accepted only by you: with --ignore RULE, or with a reason in a file given by
    --config. Comments in the package, such as # nosec, count for nothing.

    Exit code 0 if nothing at or above --fail-on was found, 1 if something was, 2 for a wrong call
    or an unknown package, 3 if nothing was found but not everything required could be checked.
    """
    from ludus.audit.settings_file import read_settings

    try:
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
    except (AuditError, OSError) as problem:
        fail(printable(problem, 1000))
    try:
        if sbom is not None:
            sbom.write_text(json.dumps(to_cyclonedx(report), indent=2) + "\n", encoding="utf-8")
        _write(report, format, show, output)
    except OSError as problem:
        fail(problem)
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
    """Return the report for people; everything in it is text, never markup."""
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


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _components(report: AuditReport) -> Table:
    table = _table(f"{len(report.components)} components", "name", "version", "from", "licence")
    for item in report.components:
        cells = (item.key, item.version or "?", item.source, item.licence or "unknown")
        table.add_row(*(Text(printable(cell, 80)) for cell in cells))
    return table


def _findings(listed: list[Finding]) -> Table:
    table = _table(f"{len(listed)} findings", "severity", "rule", "where", "what")
    for item in listed:
        severity = Text(item.severity, style=_COLOURS[item.severity])
        table.add_row(severity, Text(item.rule), Text(item.place), Text(item.message))
    return table


def _explanations(listed: list[Finding]) -> Table:
    table = _table("What they mean", "rule", "meaning", "what to do")
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
        return Text(f"Incomplete: required, and not checked: {names}.", style="bold yellow")
    return Text(f"No finding of severity {least} or above.", style="bold green")
