"""What a rule is, and what breaking one raises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
class Rule:
    """One thing that is checked.

    ``raises`` and ``category`` are what a finding of severity error raises and one of severity
    warning warns with. ``blocks`` says that nothing further can be checked once the rule is broken,
    ``follows`` names rules that, once broken, explain this one, ``extra`` says that Gymnasium's
    checker does not check it.
    """

    id: str
    severity: Severity
    summary: str
    hint: str
    raises: type[Exception] = CheckFailed
    category: type[Warning] = UserWarning
    blocks: bool = False
    follows: tuple[str, ...] = ()
    extra: bool = False
