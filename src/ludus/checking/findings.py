"""Findings: what a check reports, and the two ways to act on it.

A check is a generator of findings, optionally with a return value. It never raises or warns by
itself; :func:`enforce` does, and a report collects instead.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias, TypeVar

from ludus import logger
from ludus.checking.rule import CheckFailed, Severity
from ludus.checking.rules import RULES

__all__ = ["Finding", "Findings", "Report", "enforce", "finding"]

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken rule: what was found, and what to do about it."""

    rule: str
    severity: Severity
    message: str
    hint: str

    def __str__(self) -> str:
        return f"{self.message} {self.hint} [{self.rule}]"


Findings: TypeAlias = Generator[Finding, None, Result]
"""A check: yields what it finds and returns a result."""


def finding(rule: str, message: str, severity: Severity | None = None) -> Finding:
    """Return a finding under ``rule``, as severe as the rule unless said otherwise."""
    entry = RULES[rule]
    return Finding(rule, severity or entry.severity, message, entry.hint)


def enforce(check: Findings[Result], suppress: Collection[str] = ()) -> Result:
    """Run a check: warn of its warnings, raise its first error, return its result.

    Raises:
        Exception: What the broken rule raises, :class:`CheckFailed` unless the table says else.
    """
    # Closed at once, for a check may have something to put back.
    with closing(check):
        while True:
            try:
                found = next(check)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            if found.rule not in suppress and found.severity != "note":
                _act(found)


def _act(found: Finding) -> None:
    rule = RULES[found.rule]
    if found.severity == "warning":
        text = found.message if logger.as_gymnasium else str(found)
        logger.warn(text, category=rule.category)
    elif issubclass(rule.raises, CheckFailed):
        raise rule.raises(str(found), rule.id)
    else:
        raise rule.raises(str(found))


@dataclass(frozen=True, slots=True)
class Report:
    """Everything found in one environment; ``notes`` say what could not be checked, and why."""

    subject: str
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there is no error; warnings are allowed."""
        return not self.errors

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings of severity error."""
        return tuple(found for found in self.findings if found.severity == "error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings of severity warning."""
        return tuple(found for found in self.findings if found.severity == "warning")

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready data."""
        return {
            "subject": self.subject,
            "ok": self.ok,
            "findings": [asdict(found) for found in self.findings],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        head = f"{self.subject}: {len(self.errors)} errors, {len(self.warnings)} warnings"
        width = max((len(found.rule) for found in self.findings), default=0)
        lines = [
            f"  {found.severity:<7}  {found.rule:<{width}}  {found.message}\n"
            f"  {'':<7}  {'':<{width}}  → {found.hint}"
            for found in self.findings
        ]
        return "\n".join([head, *lines, *(f"  note     {note}" for note in self.notes)])
