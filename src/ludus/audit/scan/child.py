"""The scanning process: reads files from stdin, writes findings as JSON lines.

A request is a line with the lengths of name and content, followed by both. If a file crashes the
process, there is no answer.
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
            hits.append(Hit("unscanned-file", 1, f"the encoding {encoding[:40]} can hide code"))
        # setup.py is run as a program at installation.
        script = name.rpartition("/")[2] == "setup.py"
        found, specs = scan_module(ast.parse(content, filename="<audited>"), script=script)
        hits += found
    except (SyntaxError, ValueError, RecursionError, MemoryError, LookupError, OverflowError) as e:
        line = getattr(e, "lineno", None)
        hits.append(Hit("unscanned-file", line or 1, f"{type(e).__name__}: {str(e)[:150]}"))
    return {"hits": [[hit.rule, hit.line, hit.detail] for hit in hits], "specs": specs}


def main() -> None:
    """Answer requests until the end of stdin."""
    warnings.simplefilter("ignore")  # the parser warns about code in scanned files
    sys.setrecursionlimit(5000)
    source, answers = sys.stdin.buffer, sys.stdout
    while header := source.readline():
        name_length, length = map(int, header.split())
        name = source.read(name_length).decode("utf-8", "replace")
        answers.write(json.dumps(examine(name, source.read(length))) + "\n")
        answers.flush()
