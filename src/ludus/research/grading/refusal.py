"""What an agent may read about a refused validation.

Submitted code that fails has seen hidden data, so that nothing it says or chooses goes back to the
agent: no message, no output, no name of its own exception class. What remains are fixed sentences,
names of built-in exceptions, and a line number of the agent's file. The agent can run its code
itself to see more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ludus.errors import SubmissionRejected
from ludus.research.task.outcome import REFUSED
from ludus.terminal_text import excerpt

__all__ = ["LONGEST", "raised_where", "told_of"]

LONGEST = 300
"""Most characters that an agent is told of a refusal."""

_EXCEPTIONS = frozenset(
    {
        "ArithmeticError", "AssertionError", "AttributeError", "BlockingIOError",
        "BrokenPipeError", "BufferError", "ChildProcessError", "ConnectionError", "EOFError",
        "Exception", "FileExistsError", "FileNotFoundError", "FloatingPointError", "ImportError",
        "IndentationError", "IndexError", "InterruptedError", "IsADirectoryError", "KeyError",
        "KeyboardInterrupt", "LookupError", "MemoryError", "ModuleNotFoundError", "NameError",
        "NotADirectoryError", "NotImplementedError", "OSError", "OverflowError",
        "PermissionError", "ProcessLookupError", "RecursionError", "ReferenceError",
        "RuntimeError", "StopIteration", "SyntaxError", "SystemError", "SystemExit", "TabError",
        "TimeoutError", "TypeError", "UnboundLocalError", "UnicodeDecodeError",
        "UnicodeEncodeError", "UnicodeError", "ValueError", "ZeroDivisionError",
    }
)  # fmt: skip
"""Names of built-in exceptions; code cannot make up more of them to talk."""


def told_of(problem: SubmissionRejected, *, is_code_asked: bool) -> str:
    """Return what an agent may read of a refusal.

    If submitted code was run (``is_code_asked``), it may have chosen the message, which is left
    out.
    """
    own = REFUSED if is_code_asked else str(problem)
    text = own if problem.told is None else problem.told
    # One less, for the sign that something was cut.
    return excerpt(text, LONGEST - 1)[:LONGEST]


def raised_where(kind: Any, path: Any, line: Any, lines: Mapping[str, int]) -> str:
    """Return which exception submitted code raised and where, as far as that can be trusted.

    Class, file and line come from the code itself; ``lines`` has the number of lines of each file.
    """
    what = kind if isinstance(kind, str) and kind in _EXCEPTIONS else "an exception"
    if not isinstance(path, str) or path not in lines:
        return f"raised {what}"
    if type(line) is not int or not 1 <= line <= lines[path]:
        return f"raised {what} in {path}"
    return f"raised {what} in {path}, line {line}"
