"""A finding, and the words in which data from outside may be shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ludus.audit.rules import RULES, SEVERITIES, Severity

__all__ = ["Finding", "printable"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a rule is about, at one place.

    ``path`` is relative to what was audited, with ``line`` 0 where there is none. ``accepted`` is
    the auditor's reason for living with it. Text from the audited package is made printable.
    """

    rule: str
    path: str
    line: int
    detail: str
    severity: Severity
    accepted: str | None = None

    @classmethod
    def of(
        cls, rule: str, path: str, line: int = 0, detail: str = "", severity: Severity | None = None
    ) -> Finding:
        """Make a finding, with its rule's severity unless told otherwise."""
        key = rule.partition(":")[0]
        return cls(
            rule, printable(path), line, printable(detail, 300), severity or RULES[key].severity
        )

    @property
    def place(self) -> str:
        """Where, as ``file:line``."""
        return f"{self.path}:{self.line}" if self.line else self.path

    @property
    def order(self) -> tuple[Any, ...]:
        """A key that sorts the gravest first."""
        return (-SEVERITIES.index(self.severity), self.rule, self.path, self.line)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON's data, with what its rule says."""
        rule = RULES[self.rule.partition(":")[0]]
        return {
            "rule": self.rule,
            "severity": self.severity,
            "path": self.path,
            "line": self.line,
            "detail": self.detail,
            "meaning": rule.meaning,
            "advice": rule.advice,
            "accepted": self.accepted,
        }


def printable(text: object, most: int = 300) -> str:
    """Return text that cannot steer a terminal: control and format characters are written out."""
    cut = str(text)[: most + 1]
    if len(cut) > most:
        cut = cut[: most - 1] + "…"
    # Surrogates and bidirectional marks are not printable either, by Unicode's categories.
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in cut
    )
