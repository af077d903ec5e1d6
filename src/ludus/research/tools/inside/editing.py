"""Change files: create, edit, insert. A change that breaks the syntax of a file is not made."""

from __future__ import annotations

import json
import re
import warnings
from _ast import PyCF_ONLY_AST
from pathlib import Path

from .document import Document
from .state import Complaint, load_open
from .viewing import show

__all__ = ["create", "edit", "insert", "syntax_error"]

_RANGE = re.compile(r"(\d+):(\d+)")
_AROUND = 5


def create(path: str, text: str) -> str:
    """Make a new file, with ``text`` in it, and open it."""
    # Without following a link that has the name itself.
    target = Path(path).parent.resolve() / Path(path).name
    if target.exists() or target.is_symlink():
        raise Complaint(f"{target} exists. Open it with: open {path}")
    if not target.parent.is_dir():
        raise Complaint(f"There is no folder {target.parent}. Make it with: mkdir -p")
    document = Document(target, _lines(text))
    document.write()
    problem = syntax_error(document)
    warning = f"Note: {problem}\n" if problem else ""
    return f"Made {target}.\n{warning}{show(document, 1)}"


def edit(lines: str, text: str) -> str:
    """Replace lines ``START:END`` of the open file, both included, by ``text``."""
    matched = _RANGE.fullmatch(lines)
    if matched is None:
        raise Complaint(f"The lines are given as START:END, such as 3:5; got {lines!r}.")
    start, end = int(matched[1]), int(matched[2])
    document = Document.read(load_open()[0])
    total = len(document.lines)
    if not 1 <= start <= end <= total:
        hint = "Use insert 0 for an empty file." if not total else f"It has {total} lines."
        raise Complaint(f"Lines {start} to {end} are not in {document.path}. {hint}")
    return _change(document, start - 1, end, _lines(text))


def insert(line: int, text: str) -> str:
    """Put ``text`` after a line of the open file; after line 0 is before the first."""
    document = Document.read(load_open()[0])
    if not 0 <= line <= len(document.lines):
        raise Complaint(f"There is no line {line}: the file has {len(document.lines)} lines.")
    if not text:
        raise Complaint("There is nothing to insert: give the text as input, with <<'EOF'.")
    return _change(document, line, line, _lines(text))


def syntax_error(document: Document) -> str | None:
    """Return what is wrong with a file whose kind has a syntax; ``None`` if nothing is known."""
    try:
        if document.path.suffix == ".py":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(document.text, str(document.path), "exec", PyCF_ONLY_AST, True)
        elif document.path.suffix == ".json":
            json.loads(document.text)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error) or type(error).__name__
    return None


def _change(document: Document, start: int, stop: int, new: list[str]) -> str:
    changed = document.replaced(start, stop, new)
    problem = syntax_error(changed)
    # A file that is broken already may stay so: it is mended in more than one step.
    if problem and not syntax_error(document):
        first = max(1, start + 1 - _AROUND)
        last = min(len(changed.lines), start + len(new) + _AROUND)
        shown = "".join(f"{n:>6}  {changed.lines[n - 1]}\n" for n in range(first, last + 1))
        raise Complaint(
            f"The file was left as it was: with this change it would not parse ({problem}).\n"
            f"With the change it would read:\n{shown}Correct the text or the lines and try again."
        )
    changed.write()
    warning = f"Note: the file does not parse yet ({problem}).\n" if problem else ""
    shown = show(changed, min(start + 1, max(1, len(changed.lines))))
    return f"Changed {changed.path}.\n{warning}{shown}"


def _lines(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines
