"""Findings of environment checks.

A check is a generator of findings, optionally with a return value. It does not raise or warn
itself; :func:`enforce` does, and a report collects the findings. The rules are imported at the
first finding: every environment that is made is checked, and few break a rule.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from ludus import logger

if TYPE_CHECKING:
    from ludus.checking.rule import Severity
    from ludus.findings import Finding

__all__ = ["Findings", "enforce", "finding"]

Result = TypeVar("Result")


Findings: TypeAlias = Generator["Finding", None, Result]
"""A check: yields findings and returns a result."""


def finding(rule: str, message: str, severity: Severity | None = None) -> Finding:
    """Return a finding, with the severity of its rule by default."""
    from ludus.checking.rules import BOOK

    return BOOK.finding(rule, message, severity=severity)


def enforce(check: Findings[Result], suppress: Collection[str] = ()) -> Result:
    """Run a check: issue its warnings, raise its first error, return its result.

    Raises:
        Exception: The exception of the violated rule, by default :class:`CheckFailed`.
    """
    # The check is closed at once, because it may have to restore something.
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
    from ludus.checking.rule import CheckFailed
    from ludus.checking.rules import BOOK

    rule = BOOK.rule_of(found)
    if found.severity == "warning":
        text = found.message if logger.as_gymnasium else str(found)
        logger.warn(text, category=rule.category)
    elif issubclass(rule.raises, CheckFailed):
        raise rule.raises(str(found), rule.id)
    else:
        raise rule.raises(str(found))
