"""Predicates of single expressions of a syntax tree."""

from __future__ import annotations

import ast
import inspect
from typing import Any

__all__ = ["bind_problem", "has_stars", "is_constant", "is_constant_list", "is_target", "path_of"]


def path_of(node: ast.expr | None) -> list[str] | None:
    """Return the parts of a dotted name, ``None`` if the expression is something else."""
    words: list[str] = []
    while isinstance(node, ast.Attribute):
        words.append(node.attr)
        node = node.value
    return [node.id, *reversed(words)] if isinstance(node, ast.Name) else None


def is_constant(node: ast.expr, kind: type) -> bool:
    """Return whether an expression is a constant of a type."""
    return isinstance(node, ast.Constant) and isinstance(node.value, kind)


def is_constant_list(node: ast.expr) -> bool:
    """Return whether an expression is a list of constant numbers."""
    return isinstance(node, ast.List) and all(
        isinstance(item, ast.Constant) and isinstance(item.value, bool | int | float)
        for item in node.elts
    )


def is_target(node: ast.List) -> bool:
    """Return whether a list is the target of an assignment."""
    return not isinstance(node.ctx, ast.Load)


def has_stars(node: ast.Call) -> bool:
    """Return whether a call unpacks arguments with ``*`` or ``**``."""
    starred = any(isinstance(part, ast.Starred) for part in node.args)
    return starred or any(word.arg is None for word in node.keywords)


def bind_problem(called: Any, node: ast.Call) -> str:
    """Return the problem with a call's arguments, empty if there is none."""
    words = {word.arg: None for word in node.keywords if word.arg is not None}
    try:
        inspect.signature(called).bind(*node.args, **words)
    except TypeError as problem:
        return str(problem)
    except ValueError:
        pass
    return ""
