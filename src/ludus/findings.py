"""Rules, findings and reports of the checks of environments, packages and tasks.

Each tool has a :class:`RuleBook` with its rules and severities.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar

__all__ = ["Finding", "Report", "Rule", "RuleBook"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, with its severity and advice for violations."""

    id: str
    severity: str
    meaning: str
    advice: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A violation of a rule: what was found, where, and what to do.

    ``path`` is empty and ``line`` is 0 if there is none. ``accepted`` is the user's reason for
    accepting the finding.
    """

    rule: str
    severity: str
    message: str
    advice: str
    path: str = ""
    line: int = 0
    accepted: str | None = None

    @property
    def place(self) -> str:
        """Path and line, as ``path:line``."""
        return f"{self.path}:{self.line}" if self.line else self.path

    def __str__(self) -> str:
        if self.path:
            return f"{self.place}: {self.severity} [{self.rule}] {self.message} {self.advice}"
        return f"{self.message} {self.advice} [{self.rule}]"


_Rule = TypeVar("_Rule", bound=Rule)


class RuleBook(Generic[_Rule]):
    """The rules of one tool.

    Args:
        severities: From the mildest to the most severe.
        rules: Their ids must differ.
        keys: JSON keys of a finding's fields, in their order.
    """

    def __init__(
        self, severities: tuple[str, ...], rules: Iterable[_Rule], keys: Mapping[str, str]
    ) -> None:
        self.severities = severities
        self.rules: Mapping[str, _Rule] = MappingProxyType({rule.id: rule for rule in rules})
        self.keys = keys

    def rule_of(self, found: Finding) -> _Rule:
        """Return the rule of a finding; a part of its id after a colon is another tool's."""
        return self.rules[found.rule.partition(":")[0]]

    def finding(
        self,
        rule: str,
        message: str | None = None,
        path: str = "",
        line: int = 0,
        *,
        severity: str | None = None,
        advice: str | None = None,
    ) -> Finding:
        """Return a finding, with defaults from its rule.

        Raises:
            KeyError: There is no such rule.
        """
        known = self.rules[rule.partition(":")[0]]
        return Finding(
            rule,
            severity or known.severity,
            known.meaning if message is None else message,
            advice or known.advice,
            path,
            line,
        )

    def order(self, found: Finding) -> int:
        """Return a key that sorts the most severe findings first."""
        return -self.severities.index(found.severity)

    def to_dict(self, found: Finding) -> dict[str, Any]:
        """Return a finding as JSON-ready data."""
        return {key: getattr(found, name) for key, name in self.keys.items()}

    def report(
        self,
        subject: str,
        findings: Iterable[Finding],
        notes: Iterable[str] = (),
        *,
        fail_on: str | None = None,
    ) -> Report:
        """Return a report that fails on findings at or above ``fail_on``, by default the highest.

        Raises:
            ValueError: ``fail_on`` is not a severity of this tool.
        """
        if fail_on is not None and fail_on not in self.severities:
            raise ValueError(f"fail_on is {fail_on!r}; expected one of {self.severities}.")
        least = fail_on or self.severities[-1]
        return Report(subject, tuple(findings), tuple(notes), least, self)


@dataclass(frozen=True, slots=True)
class Report:
    """All findings about one subject; ``notes`` name what could not be checked."""

    subject: str
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    fail_on: str
    """The lowest severity that makes the report fail."""
    book: RuleBook[Any]

    @property
    def open(self) -> tuple[Finding, ...]:
        """The findings that are not accepted."""
        return tuple(found for found in self.findings if found.accepted is None)

    @property
    def failing(self) -> tuple[Finding, ...]:
        """The open findings that make the report fail."""
        least = self.book.severities.index(self.fail_on)
        severe = self.book.severities[least:]
        return tuple(found for found in self.open if found.severity in severe)

    @property
    def ok(self) -> bool:
        """Whether no finding makes the report fail."""
        return not self.failing

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings of severity error."""
        return tuple(found for found in self.findings if found.severity == "error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings of severity warning."""
        return tuple(found for found in self.findings if found.severity == "warning")

    @property
    def counts(self) -> dict[str, int]:
        """Number of open findings by severity."""
        severities = [found.severity for found in self.open]
        return {severity: severities.count(severity) for severity in self.book.severities}

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready data."""
        return {
            "subject": self.subject,
            "ok": self.ok,
            "findings": [self.book.to_dict(found) for found in self.findings],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        counts = [f"{count} {severity}s" for severity, count in self.counts.items()]
        head = f"{self.subject}: {', '.join(reversed(counts))}"
        width = max((len(found.rule) for found in self.findings), default=0)
        lines = [
            f"  {found.severity:<7}  {found.rule:<{width}}  {found.message}\n"
            f"  {'':<7}  {'':<{width}}  → {found.advice}"
            for found in self.findings
        ]
        return "\n".join([head, *lines, *(f"  note     {note}" for note in self.notes)])
