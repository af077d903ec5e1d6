"""The process that reads hostile source: files come in on stdin, findings go out as JSON lines.

A request is a line with the length of the name and of the content, then both. A file that this
process does not survive is told by its silence.
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tokenize
import warnings
from typing import Any

from .module import Hit, scan_module

__all__ = ["examine", "main"]

_LONG = 2000
_HIDDEN = re.compile("[\u202a-\u202e\u2066-\u2069\u200b\u200e\u200f]")
_PLAIN_ENCODINGS = {"utf-8", "utf-8-sig", "ascii", "us-ascii", "iso-8859-1", "latin-1"}


def examine(name: str, content: bytes) -> dict[str, Any]:
    """Return the findings in one file and the environments it registers."""
    hits = list(_examine_text(content))
    specs: list[dict[str, Any]] = []
    try:
        tree = ast.parse(content, filename="<audited>")
        # A build runs this file as a program.
        script = name.rpartition("/")[2] == "setup.py"
        found, specs = scan_module(tree, script=script)
        hits += found
        if script:
            hits += _install_hooks(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError, LookupError, OverflowError) as e:
        line = getattr(e, "lineno", None)
        hits.append(Hit("unscanned-file", line or 1, f"{type(e).__name__}: {str(e)[:150]}"))
    return {"hits": [[hit.rule, hit.line, hit.detail] for hit in hits], "specs": specs}


def _install_hooks(tree: ast.Module) -> list[Hit]:
    """Find where a setup script replaces the commands that install it."""
    return [
        Hit("install-hook", getattr(node, "lineno", 1), "cmdclass")
        for node in ast.walk(tree)
        if "cmdclass" in (getattr(node, "arg", None), getattr(node, "value", None))
    ]


def _examine_text(content: bytes) -> list[Hit]:
    hits = []
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    except SyntaxError:
        encoding = "unknown"
    if encoding not in _PLAIN_ENCODINGS:
        hits.append(Hit("hidden-text", 1, f"the encoding is {encoding[:40]}"))
    for number, line in enumerate(content.splitlines(), 1):
        if len(line) > _LONG:
            hits.append(Hit("long-line", number, f"{len(line)} bytes"))
            break
    match = _HIDDEN.search(content.decode("utf-8", "replace"))
    if match:
        number = content.decode("utf-8", "replace").count("\n", 0, match.start()) + 1
        hits.append(Hit("hidden-text", number, f"U+{ord(match[0]):04X} turns or hides text"))
    return hits


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
