"""What the programs of an MLGym task read and import, as far as their source says; none is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import PurePosixPath

__all__ = ["called_functions", "imported_files", "named_in"]

_LONGEST_NAME = 200
_FILE = re.compile(r"[\w *?\[\]-][\w .*?\[\]-]*\.[\w*]{1,12}")


def named_in(programs: Iterable[bytes]) -> list[str]:
    """Return the names of files, with wildcards, among the texts in programs."""
    names: set[str] = set()
    for tree in map(_parsed, programs):
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                name = PurePosixPath(node.value[: _LONGEST_NAME + 1]).name
                if len(name) <= _LONGEST_NAME and _FILE.fullmatch(name):
                    names.add(name)
    return sorted(names)


def imported_files(program: str, files: Mapping[str, bytes]) -> set[str]:
    """Return the paths of files that a program imports, directly or by way of others."""
    found: set[str] = set()
    todo = [program]
    while todo:
        for module in _imports(_parsed(files[todo.pop()])):
            place = module.replace(".", "/")
            for path in (f"{place}.py", f"{place}/__init__.py"):
                if path in files and path not in found:
                    found.add(path)
                    todo.append(path)
    return found


def called_functions(path: str, files: Mapping[str, bytes]) -> tuple[str, ...] | None:
    """Return the functions of a file that the others use; ``None`` if they use more than calls.

    Those can be called in another sandbox. That is not so of classes, variables, generators and
    modules that are used in ways that cannot be known.
    """
    module = PurePosixPath(path).stem
    used: set[str] = set()
    for other, source in files.items():
        if other == path or not other.endswith(".py"):
            continue
        names = _used_of(module, _parsed(source))
        if names is None:
            return None
        used |= names
    functions = {
        node.name
        for node in _parsed(files.get(path, b"")).body
        if isinstance(node, ast.FunctionDef) and not _yields(node)
    }
    return tuple(sorted(used)) if used and used <= functions else None


def _parsed(source: bytes) -> ast.Module:
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.parse(source)
    return ast.Module([], [])


def _imports(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def _used_of(module: str, tree: ast.Module) -> set[str] | None:
    """Return the names of a module that a program uses; ``None`` if that is not known."""
    used: set[str] = set()
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == module and not node.level:
            used |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            bound |= {alias.asname or alias.name for alias in node.names if alias.name == module}
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in bound]
    attributes = [
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in bound
    ]
    used |= set(attributes)
    return None if "*" in used or len(names) != len(attributes) else used


def _yields(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function))
