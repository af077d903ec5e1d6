"""Checks a function without source by its byte code, with fewer rules."""

from __future__ import annotations

import dis
from types import FunctionType

from ludus.kernel.authoring.mistakes import Mistake, at_line
from ludus.kernel.authoring.names import ABSENT, lookup, refusal, similar
from ludus.kernel.authoring.rules import DEBUGGING

__all__ = ["check_instructions"]

_OPERATIONS = {
    "BUILD_MAP": "kernel-dict",
    "BUILD_CONST_KEY_MAP": "kernel-dict",
    "BUILD_SET": "kernel-set",
    "BUILD_LIST": "kernel-list",
    "BUILD_STRING": "kernel-string",
    "FORMAT_VALUE": "kernel-string",
    "FORMAT_SIMPLE": "kernel-string",
    "IMPORT_NAME": "kernel-import",
    "LOAD_BUILD_CLASS": "kernel-class",
    "MAKE_FUNCTION": "kernel-nested-function",
    "PUSH_EXC_INFO": "kernel-try",
    "BEFORE_WITH": "kernel-with",
    "STORE_ATTR": "kernel-field-assignment",
    "STORE_GLOBAL": "kernel-global-state",
    "YIELD_VALUE": "kernel-generator",
}


def check_instructions(
    function: FunctionType, *, compiled: bool
) -> tuple[list[Mistake], list[tuple[FunctionType, int]]]:
    """Return the mistakes of a function and the helpers that it calls, with their lines.

    Args:
        function: The function.
        compiled: Whether it is going to be compiled; plain Python may print.
    """
    mistakes: list[Mistake] = []
    helpers: list[tuple[FunctionType, int]] = []
    line = function.__code__.co_firstlineno
    path: list[str] = []

    def add(rule: str, what: str, hint: str = "") -> None:
        mistakes.append(at_line(rule, function, line, what, hint=hint))

    def end_name() -> None:
        if not path:
            return
        found, used = lookup(function.__globals__, path)
        shown = ".".join(path[:used])
        refused = refusal(found) if found is not ABSENT else None
        if found is ABSENT:
            add("kernel-undefined-name", shown, similar(path[0], function.__globals__))
        elif refused is not None and (compiled or refused.rule not in DEBUGGING):
            add(refused.rule, shown, refused.hint)
        elif isinstance(found, FunctionType) and refused is None:
            helpers.append((found, line))
        path.clear()

    for instruction in dis.get_instructions(function):
        name = instruction.opname
        if name in ("LOAD_ATTR", "LOAD_METHOD") and path:
            path.append(instruction.argval)
            continue
        end_name()
        line = _line(instruction) or line
        if name == "LOAD_GLOBAL":
            path.append(instruction.argval)
        elif name in _OPERATIONS:
            add(_OPERATIONS[name], "The expression")
    end_name()
    return mistakes, helpers


def _line(instruction: dis.Instruction) -> int | None:
    """Return an instruction's line, in any version of Python."""
    positions = instruction.positions
    return None if positions is None else positions.lineno
