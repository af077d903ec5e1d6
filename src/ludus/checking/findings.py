"""Checks of environments, and the two ways to act on their findings.

A check is a generator of findings, optionally with a return value. It never raises or warns by
itself; :func:`enforce` does, and a report collects instead.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from typing import TypeAlias, TypeVar

from ludus import logger
from ludus.checking.rule import CheckFailed, Severity
from ludus.checking.rules import BOOK
from ludus.findings import Finding

__all__ = ["Findings", "enforce", "finding"]

Result = TypeVar("Result")


Findings: TypeAlias = Generator[Finding, None, Result]
"""A check: yields what it finds and returns a result."""


def finding(rule: str, message: str, severity: Severity | None = None) -> Finding:
    """Return a finding under ``rule``, as severe as the rule unless said otherwise."""
    return BOOK.finding(rule, message, severity=severity)


def enforce(check: Findings[Result], suppress: Collection[str] = ()) -> Result:
    """Run a check: warn of its warnings, raise its first error, return its result.

    Raises:
        Exception: What the broken rule raises, :class:`CheckFailed` unless the table says else.
    """
    # Closed at once, for a check may have something to put back.
    try:
        while True:
            found = next(check)
            if found.rule not in suppress and found.severity != "note":
                _act(found)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    finally:
        check.close()


def _act(found: Finding) -> None:
    rule = BOOK.rule_of(found)
    if found.severity == "warning":
        text = found.message if logger.as_gymnasium else str(found)
        logger.warn(text, category=rule.category)
    elif issubclass(rule.raises, CheckFailed):
        raise rule.raises(str(found), rule.id)
    else:
        raise rule.raises(str(found))
