"""Translates the compiler's errors to the author's line and a short reason."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import NamedTuple

from ludus.errors import KernelError
from ludus.kernel.authoring.mistakes import Mistake, at_function, at_line, kernel_error
from ludus.kernel.authoring.validation import reached

__all__ = ["explained"]


@contextmanager
def explained(
    title: str, functions: Iterable[FunctionType], known: Callable[[], Iterable[Mistake]]
) -> Iterator[None]:
    """Convert errors of the compiler to errors about the author's source.

    Args:
        title: Name of the kernel or policy in the message.
        functions: The author's functions, without helpers.
        known: Returns mistakes in the code compiled so far, which explain a failure better than the
            compiler's text.

    Raises:
        KernelError: Compiling failed; the compiler's error is its cause.
    """
    try:
        yield
    except (KernelError, OSError, MemoryError):
        raise
    except Exception as problem:  # numba raises exceptions of many types, also internal ones
        found = list(known()) or [_mistake(list(functions), problem)]
        raise kernel_error(title, found) from problem


def _mistake(functions: list[FunctionType], problem: Exception) -> Mistake:
    text = _without_color(str(problem))
    known = reached(functions) or functions
    returned = _returned(text)
    if returned:
        listed = " and ".join(f"{kind} in line {line}" for line, kind in returned)
        rule, reason, hint = "kernel-mixed-types", f"returns {listed}", ""
        place = _place(known, f'File "{_file(text)}", line {returned[0][0]}')
    else:
        rule, reason, hint = _reason(text)
        place = _place(known, text)
    if place is None:
        return at_function(rule, functions[0], "The kernel", reason)
    function, line = place
    what = function.__name__ if returned else "The line"
    found = at_line(rule, function, line, what, reason, hint)
    return _without_foreign_attribute(found, text)


def _without_foreign_attribute(found: Mistake, text: str) -> Mistake:
    """Reword a mistake about an attribute that a library function reads, not the author."""
    asked = re.search(r"Unknown attribute '(\w+)' of type (.+)", text)
    if found.rule != "kernel-unknown-field" or asked is None or asked[1] in found.text:
        return found
    reason = f"gives {_plain(asked[2])} to a function that needs an array"
    hint = "Compute with the numbers themselves, in a loop if there are several."
    return dataclasses.replace(found, rule="kernel-types", reason=reason, hint=hint)


def _without_color(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def _returned(text: str) -> list[tuple[int, str]]:
    """Return the types that a function returns and their lines, if they cannot be unified."""
    if "Can't unify return type" not in text:
        return []
    found = re.findall(r"type '([^']+)', location:\s*File \"[^\"]+\", line (\d+)", text)
    return sorted({(int(line), _plain(kind)) for kind, line in found})


def _file(text: str) -> str:
    """Return the first file in a message."""
    return re.findall(r'File "([^"]+)", line', text)[0]  # type: ignore[no-any-return]


def _place(functions: list[FunctionType], text: str) -> tuple[FunctionType, int] | None:
    """Return the author's function and line that come first in a message, the innermost ones."""
    for file, number in re.findall(r'File "([^"]+)", line (\d+)', text):
        line = int(number)
        for function in functions:
            code = function.__code__
            lines = [at for *_, at in code.co_lines() if at is not None]
            named = code.co_filename.endswith(file.lstrip("./"))
            if named and lines and code.co_firstlineno <= line <= max(lines):
                return function, line
    return None


class _Pattern(NamedTuple):
    """A pattern of compiler messages, with the rule, reason and hint to report."""

    text: str
    rule: str
    reason: str
    hint: str = ""


_PATTERNS = (
    _Pattern(
        r"Cannot unify (.+) and (.+) for '([\w.$]+)'",
        "kernel-mixed-types",
        "gives {2} different types on different paths: {0} and {1}",
    ),
    _Pattern(
        r"Unknown attribute '(\w+)' of type (.+)",
        "kernel-unknown-field",
        "uses the attribute {0}, which {1} does not have",
    ),
    _Pattern(
        r"Untyped global name '([\w.]+)': (?:Cannot determine Numba type of )?(.+)",
        "kernel-global-value",
        "uses the name {0}, which compiled code cannot: {1}",
    ),
    _Pattern(
        r"NameError: name '(\w+)' is not defined", "kernel-undefined-name", "uses {0}, not defined"
    ),
    _Pattern(
        r"Function\(<class 'float'>\) found for signature:\s*>>> float\(bool\)",
        "kernel-types",
        "turns a bool into a float, which compiled code cannot",
        "Write `1.0 if condition else 0.0`.",
    ),
    _Pattern(
        r"getitem>\) found for signature:\s*>>> getitem\(((?:float|int|bool)\w*), ",
        "kernel-types",
        "applies [...] to one number, of type {0}",
        "Use the number itself; spaces decide how many numbers an action has.",
    ),
    _Pattern(
        r"(?s)No implementation of function Function\(<[^>]*?(?:function|class) '?([\w.]+)[^)]*\) "
        r"found for signature:\s*>>> \w+\((.*?)\)\s*\n",
        "kernel-types",
        "applies {0} to ({1}), which compiled code cannot",
    ),
    _Pattern(
        r"(missing a required argument: '\w+'|too many positional arguments|"
        r"not enough arguments: expected \d+, got \d+|got an unexpected keyword argument '\w+')",
        "kernel-call",
        "calls a function with arguments that do not fit: {0}",
    ),
    _Pattern(
        r"Cannot cast (.+?) to (\w.*?)(?:: |\n|$)",
        "kernel-types",
        "uses {0} where {1} is needed",
    ),
    _Pattern(
        r"(?:Cannot infer the type of variable|Undecided type of) '?(\w+)'?",
        "kernel-types",
        "uses a variable whose type cannot be told: {0}",
    ),
    _Pattern(
        r"(?:tuple index out of range|(getitem out of range))",
        "kernel-types",
        "uses an index outside a tuple",
    ),
)
_OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "iadd": "+=",
    "isub": "-=",
    "imul": "*=",
    "itruediv": "/=",
    "neg": "-",
    "not_": "not",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
    "contains": "in",
    "getitem": "[...]",
    "setitem": "[...] =",
    "and_": "&",
    "or_": "|",
    "xor": "^",
}
_WORDS = (
    (r"UniTuple\((\w+),? x? ?(\d+)\)", r"a tuple of \2 \1"),
    (r"Literal\[(\w+)\]\([^)]*\)", r"\1"),
    (r"\b(?:float64|float32)\b", "float"),
    (r"\b(?:int64|int32|uint64|int8)\b", "int"),
    (r"\bbool(?:ean)?\b", "bool"),
    (r"\b[Nn]one\b", "None"),
    (r"\barray\((\w+), (\d)d, [ACF]\w*\)", r"an array of \1"),
    (r"\breflected list\(", "a list("),
    (r"OptionalType\((.+?)\)|Optional\((.+?)\)", r"\1\2 or None"),
    (r"(\w+)\((\w+) x 2\)", r"\1(\2, \2)"),
    (r"\bTuple\(", "tuple("),
    (r"_[0-9a-f]{16}\b", ""),
    (r"\.\d+\b", ""),
)


def _reason(text: str) -> tuple[str, str, str]:
    """Return the rule, the reason and the hint of a message, with Python's names of types."""
    for pattern in _PATTERNS:
        found = list(re.finditer(pattern.text, text))
        if found:
            words = [_OPERATORS.get(word, _plain(word)) for word in found[0].groups("")]
            return pattern.rule, pattern.reason.format(*words), pattern.hint
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    kept = [line for line in lines if not line.startswith(_NOISE)]
    first = kept[0] if kept else "the compiler gave no reason"
    return "kernel-types", f"cannot be compiled: {_plain(first).rstrip('.')}", ""


_NOISE = ("Failed in nopython mode", "File ", "During: ", "def ", "^", "@", "<source elided>")


def _plain(text: str) -> str:
    for pattern, word in _WORDS:
        text = re.sub(pattern, word, text)
    return re.sub(r"\s+", " ", text).strip()
