"""Finds the syntax tree of a function, with the line numbers of the author's file."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType

__all__ = ["FunctionNode", "function_node"]

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_trees: dict[str, tuple[str, ast.Module]] = {}


def function_node(function: FunctionType) -> FunctionNode | None:
    """Return the syntax tree of a function.

    Returns:
        ``None`` if there is no source (it was made by ``exec``, or the file was deleted), or if the
        source has changed since the function was compiled.
    """
    code = function.__code__
    tree = _tree(code.co_filename)
    if tree is None:
        return None
    found = [node for node in _functions(tree) if _is_of(node, code)]
    return found[0] if len(found) == 1 else None


def _tree(file: str) -> ast.Module | None:
    """Return a file's syntax tree; notebooks add their cells to linecache, too."""
    # checkcache() would remove the entries of notebooks, which have no file.
    with suppress(OSError):
        if Path(file).exists():
            linecache.checkcache(file)
    text = "".join(linecache.getlines(file))
    if not text:
        return None
    if file not in _trees or _trees[file][0] != text:
        try:
            _trees[file] = text, ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            return None
    return _trees[file][1]


def _functions(tree: ast.Module) -> Iterator[FunctionNode]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node


def _is_of(node: FunctionNode, code: CodeType) -> bool:
    """Return whether code was compiled from a node, judged by place, parameters and names."""
    if isinstance(node, ast.Lambda):
        first, name = node.lineno, "<lambda>"
        # Several lambdas may begin in one line; the columns of the instructions differ.
        columns = {place[2] for place in code.co_positions() if place[2] is not None}
        if columns and node.body.col_offset not in columns:
            return False
    else:
        first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
        name = node.name
    if (first, name) != (code.co_firstlineno, code.co_name):
        return False
    given = node.args
    names = [arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    count = code.co_argcount + code.co_kwonlyargcount
    if names != list(code.co_varnames[:count]):
        return False
    return set(code.co_names) <= _words(node)


def _words(node: ast.AST) -> set[str]:
    """Return every identifier below a node."""
    words: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            words.add(part.id)
        elif isinstance(part, ast.Attribute):
            words.add(part.attr)
        elif isinstance(part, ast.alias):
            words.update((part.name, *part.name.split(".")))
        elif isinstance(part, ast.ImportFrom):
            words.add(part.module or "")
        elif isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            words.add(part.name)
        elif isinstance(part, ast.keyword | ast.MatchClass):
            words.update(getattr(part, "kwd_attrs", ()))
        elif isinstance(part, ast.Global):
            words.update(part.names)
    # Names that Python adds for classes, asserts and annotations.
    return words | {"AssertionError", "__annotations__", "__name__", "__module__", "__qualname__"}
