"""The process that reads hostile source: files come in on stdin, findings go out as JSON lines.

A request is a line with the length of the name and of the content, then both. A file that this
process does not survive is told by its silence.
"""

from __future__ import annotations

import ast
import io
import json
import sys
import tokenize
import warnings
from typing import Any

from .module import Hit, scan_module

__all__ = ["examine", "main"]

_PLAIN_ENCODINGS = {"utf-8", "utf-8-sig", "ascii", "us-ascii", "iso-8859-1", "latin-1"}


def examine(name: str, content: bytes) -> dict[str, Any]:
    """Return the findings in one file and the environments it registers."""
    hits: list[Hit] = []
    specs: list[dict[str, Any]] = []
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        if encoding not in _PLAIN_ENCODINGS:
            hits.append(Hit("unscanned-file", 1, f"the encoding {encoding[:40]} hides text"))
        # A build runs setup.py as a program.
        script = name.rpartition("/")[2] == "setup.py"
        found, specs = scan_module(ast.parse(content, filename="<audited>"), script=script)
        hits += found
    except (SyntaxError, ValueError, RecursionError, MemoryError, LookupError, OverflowError) as e:
        line = getattr(e, "lineno", None)
        hits.append(Hit("unscanned-file", line or 1, f"{type(e).__name__}: {str(e)[:150]}"))
    return {"hits": [[hit.rule, hit.line, hit.detail] for hit in hits], "specs": specs}


def main() -> None:
    """Answer requests until stdin ends."""
    warnings.simplefilter("ignore")  # about the escapes and comparisons of other people's code
    sys.setrecursionlimit(5000)
    source, answers = sys.stdin.buffer, sys.stdout
    while header := source.readline():
        name_length, length = map(int, header.split())
        name = source.read(name_length).decode("utf-8", "replace")
        answers.write(json.dumps(examine(name, source.read(length))) + "\n")
        answers.flush()
