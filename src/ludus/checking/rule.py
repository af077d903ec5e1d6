"""Rules for environments, and what breaking one raises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ludus import findings
from ludus.errors import Error

__all__ = ["CheckFailed", "Rule", "Severity"]

Severity = Literal["error", "warning", "note"]
"""A note says that something could not be checked; no rule is a note by itself."""


class CheckFailed(Error, AssertionError):
    """An environment breaks a rule; :attr:`rule` is the rule's id."""

    def __init__(self, message: str, rule: str | None = None) -> None:
        super().__init__(message)
        self.rule = rule


@dataclass(frozen=True, slots=True)
class Rule(findings.Rule):
    """One thing that is checked.

    ``raises`` and ``category`` are what a finding of severity error raises and one of severity
    warning warns with. ``blocks`` says that nothing further can be checked once the rule is broken,
    ``follows`` names rules that, once broken, explain this one, ``extra`` says that Gymnasium's
    checker does not check it.
    """

    raises: type[Exception] = CheckFailed
    category: type[Warning] = UserWarning
    blocks: bool = False
    follows: tuple[str, ...] = ()
    extra: bool = False

    @property
    def summary(self) -> str:
        """The rule's meaning, as a statement that holds if the rule is kept."""
        return self.meaning

    @property
    def hint(self) -> str:
        """The rule's advice."""
        return self.advice
