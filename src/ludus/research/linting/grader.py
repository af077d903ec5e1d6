"""What a grader's source says: what it reads, unpickles and runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from ludus.findings import Finding
from ludus.foreign_files import read_regular
from ludus.research.linting.reach import plain_files
from ludus.research.linting.rules import finding

__all__ = ["find_in_grader"]

_LARGEST = 4 << 20
_UNPICKLING = frozenset(
    {
        "cloudpickle.load", "cloudpickle.loads", "dill.load", "dill.loads", "joblib.load",
        "pandas.read_pickle", "pickle.Unpickler", "pickle.load", "pickle.loads", "shelve.open",
    }
)  # fmt: skip
_RUNNING = frozenset(
    {
        "__import__", "eval", "exec", "importlib.import_module", "os.popen", "os.system",
        "runpy.run_module", "runpy.run_path", "subprocess.Popen", "subprocess.call",
        "subprocess.check_call", "subprocess.check_output", "subprocess.run",
    }
)  # fmt: skip
_UNLESS: dict[str, tuple[str, bool, bool]] = {
    "numpy.load": ("allow_pickle", True, False),
    "torch.load": ("weights_only", False, True),
}
"""Calls that unpickle when an argument has this value, and what it is if it is not given."""


def find_in_grader(
    grader: Path, visible: frozenset[str], handed_in: frozenset[str]
) -> Iterator[Finding]:
    """Find what a grader must not do.

    ``visible`` are the files of the workspace, ``handed_in`` those of the submission.
    """
    main = grader / "grade.py"
    if not main.is_file():
        yield finding("no-grader", "grader/grade.py")
    own = {path.relative_to(grader).as_posix() for path in plain_files(grader)}
    writable = visible - handed_in - own
    for path in plain_files(grader):
        if path.suffix != ".py":
            continue
        shown = Path("grader") / path.relative_to(grader)
        try:
            tree = ast.parse(read_regular(path, _LARGEST, follow=False), str(path))
        # MemoryError is how Python's parser says that something is nested too deep.
        except (SyntaxError, ValueError, RecursionError, MemoryError, OSError) as problem:
            line = getattr(problem, "lineno", None) or 0
            said = str(problem) or "it is nested too deep"
            yield finding("no-grader", shown, line, f"It is no Python: {said}.")
            continue
        if path == main and not _defines_grade(tree):
            detail = "It defines neither a function grade nor a class Grader."
            yield finding("no-grader", shown, 1, detail)
        yield from _in_module(shown, tree, writable)


def _defines_grade(tree: ast.Module) -> bool:
    names: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.ImportFrom):
            names += [alias.asname or alias.name for alias in node.names]
    return not {"Grader", "grade"}.isdisjoint(names)


def _in_module(shown: Path, tree: ast.Module, writable: frozenset[str]) -> Iterator[Finding]:
    full = _imported_names(tree)
    modules = {name.removesuffix(".py") for name in writable if name.endswith(".py")}
    bare = {Path(name).name for name in writable}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _in_call(shown, node, full)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for name in _modules_of(node):
                if name.replace(".", "/") in modules:
                    detail = f"It imports {name!r}, which the agent can write."
                    yield finding("writable-input", shown, node.lineno, detail)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
            inside = text == "/workspace" or text.startswith("/workspace/")
            if inside or text in writable or (text in bare and "." in text):
                detail = f"It names {text!r}, which the agent can write."
                yield finding("writable-input", shown, node.lineno, detail)


def _in_call(shown: Path, call: ast.Call, full: dict[str, str]) -> Iterator[Finding]:
    name = _dotted(call.func, full)
    given = {word.arg: word.value for word in call.keywords}
    if name in _UNLESS:
        argument, dangerous, default = _UNLESS[name]
        value = given.get(argument)
        setting = value.value if isinstance(value, ast.Constant) else default
        if argument in given and not isinstance(value, ast.Constant):
            setting = dangerous
        if setting is dangerous:
            yield finding("unpickles", shown, call.lineno, f"{name} may unpickle here.")
    elif name in _UNPICKLING:
        yield finding("unpickles", shown, call.lineno, f"{name} unpickles.")
    elif name in _RUNNING:
        yield finding("executes-code", shown, call.lineno, f"{name} runs code.")


def _imported_names(tree: ast.Module) -> dict[str, str]:
    """Return the full names behind the names that a module imports."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom):
            names |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    return names


def _modules_of(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if node.module and not node.level else []


def _dotted(node: ast.expr, full: dict[str, str]) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([full.get(node.id, node.id), *reversed(parts)])
