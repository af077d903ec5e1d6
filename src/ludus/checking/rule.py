"""Rules for environments, and the exception for violations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ludus import findings
from ludus.errors import Error

__all__ = ["CheckFailed", "Rule", "Severity"]

Severity = Literal["error", "warning", "note"]
"""A note means that a rule could not be checked."""


class CheckFailed(Error, AssertionError):
    """An environment violates a rule; :attr:`rule` is its id."""

    def __init__(self, message: str, rule: str | None = None) -> None:
        super().__init__(message)
        self.rule = rule


@dataclass(frozen=True, slots=True)
class Rule(findings.Rule):
    """A rule for environments.

    Attributes:
        raises: Exception of a finding with severity error.
        category: Category of a finding with severity warning.
        blocks: Whether a violation makes further checks impossible.
        follows: Rules whose violation implies this one.
        extra: Whether Gymnasium's checker does not have the rule.
    """

    raises: type[Exception] = CheckFailed
    category: type[Warning] = UserWarning
    blocks: bool = False
    follows: tuple[str, ...] = ()
    extra: bool = False

    @property
    def summary(self) -> str:
        """The rule's meaning, as a statement that holds for a valid environment."""
        return self.meaning

    @property
    def hint(self) -> str:
        """The rule's advice."""
        return self.advice
