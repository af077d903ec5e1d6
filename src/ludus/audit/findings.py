"""Findings about packages; data from outside is shown as printable text."""

from __future__ import annotations

from typing import Any

from ludus.audit.rules import BOOK
from ludus.findings import Finding
from ludus.terminal_text import printable

__all__ = ["make_finding", "order", "printable", "to_dict"]


def make_finding(
    rule: str, path: str, line: int = 0, message: str = "", severity: str | None = None
) -> Finding:
    """Return a finding; ``path`` is relative to the package. All texts are made printable."""
    return BOOK.finding(rule, printable(message), printable(path), line, severity=severity)


def order(found: Finding) -> tuple[Any, ...]:
    """Return a key that sorts the most severe findings first."""
    return (BOOK.order(found), found.rule, found.path, found.line)


def to_dict(found: Finding) -> dict[str, Any]:
    """Return a finding as JSON-ready data, with its rule's meaning."""
    return {**BOOK.to_dict(found), "meaning": BOOK.rule_of(found).meaning}
