"""Broken rules at places in the author's files, and the error that reports them."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import dataclass
from types import FunctionType

from ludus.errors import KernelError
from ludus.kernel.authoring.rules import RULES

__all__ = ["Mistake", "at_function", "at_line", "kernel_error"]

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Mistake:
    """One broken rule: in which function and line of which file, and what is wrong there.

    ``what`` is the subject of the rule's summary; ``reason`` and ``hint`` replace the rule's.
    """

    rule: str
    function: str
    file: str
    line: int
    what: str
    reason: str = ""
    hint: str = ""

    @property
    def text(self) -> str:
        """The source line, empty if the source is not available."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        rule = RULES[self.rule]
        text = self.text or "(the source is not available)"
        return (
            f"  {self.file}, line {self.line}, in {self.function}:\n    {text}\n"
            f"  {self.what} {self.reason or rule.summary}. {self.hint or rule.hint} [{self.rule}]"
        )


def at_line(
    rule: str, function: FunctionType, line: int, what: str, reason: str = "", hint: str = ""
) -> Mistake:
    """Return a mistake in a line of a function's file."""
    file = function.__code__.co_filename
    return Mistake(rule, function.__name__, file, line, what, reason, hint)


def at_function(rule: str, function: FunctionType, what: str, reason: str = "") -> Mistake:
    """Return a mistake about a whole function, placed at its ``def``."""
    code = function.__code__
    line = _definition_line(code.co_filename, code.co_firstlineno)
    return at_line(rule, function, line, what, reason)


def _definition_line(file: str, first: int) -> int:
    """Return the line of ``def``, which may follow decorators."""
    for line in range(first, first + 20):
        if linecache.getline(file, line).lstrip().startswith(("def ", "async def ", "lambda")):
            return line
    return first


def kernel_error(name: str, mistakes: Sequence[Mistake]) -> KernelError:
    """Return the error that reports one or more mistakes of a kernel or policy."""
    shown = [str(mistake) for mistake in mistakes[:_SHOWN]]
    if len(mistakes) > _SHOWN:
        shown.append(f"  … and {len(mistakes) - _SHOWN} more.")
    count = "a mistake" if len(mistakes) == 1 else f"{len(mistakes)} mistakes"
    first = mistakes[0]
    return KernelError(
        "\n".join([f"{name} has {count}:", *shown]),
        rule=first.rule,
        file=first.file,
        line=first.line,
        function=first.function,
    )
