"""Analysis of calls whose effect depends on their arguments."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from .catalogue import INTROSPECTION, POWERFUL, READERS, SECRET_NAME, WRITING_METHODS, rule_of
from .names import Names, argument
from .scopes import Scope

__all__ = ["Judgement", "judge_call"]

_OUTSIDE = re.compile(r"^(/(?!dev/null$)|~|[A-Za-z]:[\\/])|(^|/)\.\.(/|$)")
_HOME = {
    "os.path.expanduser",
    "os.path.expandvars",
    "pathlib.Path.home",
    "pathlib.Path().expanduser",
}
_ENVIRONMENT = {"os.getenv", "os.getenvb", "os.environ.get", "os.environb.get", "os.environ.pop"}
_ARRAYS = {"numpy.load", "numpy.lib.format.read_array"}
_LOOKS = {
    "builtins.dir",
    "builtins.hasattr",
    "builtins.isinstance",
    "builtins.id",
    "importlib.reload",
}


@dataclass(slots=True)
class Judgement:
    """Findings about a call; ``settled`` means that its function needs no further analysis."""

    hits: list[tuple[str, str]] = field(default_factory=list)
    settled: bool = False


def judge_call(node: ast.Call, names: set[str], known: Names, scope: Scope) -> Judgement:
    """Analyse a call by the possible names of its function and by its arguments."""
    found = Judgement()
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    for name in sorted(names):
        if name in READERS:
            _judge_open(node, name, known, scope, found)
        elif name == "builtins.__import__":
            _judge_import(node, known, scope, found)
        elif name in {"builtins.getattr", "builtins.object.__getattribute__", "builtins.setattr"}:
            _judge_getattr(node, known, scope, found)
        elif name in _ENVIRONMENT:
            _judge_variable(node, known, scope, found)
        elif name in _ARRAYS:
            found.settled = True
            if _may_unpickle(node):
                found.hits.append(("unpickling", name))
        else:
            _judge_rule(node, name, known, scope, found)
    if method in WRITING_METHODS and not any("file-write" in rule for rule, _ in found.hits):
        _add_file(node, f".{method}", known, scope, found, writes=True)
    if not names & (_LOOKS | {"builtins.getattr"}):
        _judge_handed_over(node, known, scope, found)
    return found


def _may_unpickle(node: ast.Call) -> bool:
    """Return whether a call that reads arrays may unpickle; bandit does not check this."""
    flag = argument(node, 2, "allow_pickle")
    if flag is not None:
        return not (isinstance(flag, ast.Constant) and flag.value is False)
    stars = (isinstance(item, ast.Starred) for item in node.args)
    return any(stars) or any(item.arg is None for item in node.keywords)


def _judge_open(node: ast.Call, name: str, known: Names, scope: Scope, found: Judgement) -> None:
    found.settled = True
    position = READERS[name]
    mode = argument(node, position, "mode")
    text = known.text(mode, scope)
    writes = position is not None and mode is not None and (text is None or set(text) & set("wax+"))
    if name == "os.open":
        # Flags that are not clearly read-only count as writing.
        flags = ast.unparse(node.args[1]) if len(node.args) > 1 else ""
        writes = any(word in flags for word in ("WR", "CREAT", "TRUNC", "APPEND")) or not flags
    _add_file(node, name, known, scope, found, writes=bool(writes))


def _add_file(
    node: ast.Call, name: str, known: Names, scope: Scope, found: Judgement, *, writes: bool
) -> None:
    place = _leads_outside(node, known, scope)
    if place and writes:
        found.hits.append(("file-write-outside", place))
    elif writes:
        found.hits.append(("file-write", name.removeprefix("builtins.")))
    elif place:
        found.hits.append(("file-read-outside", place))


def _leads_outside(node: ast.Call, known: Names, scope: Scope) -> str | None:
    """Return the text that shows that a path is outside the package and working folder."""
    pending: list[ast.AST] = [*node.args, *(item.value for item in node.keywords)]
    if isinstance(node.func, ast.Attribute):
        pending.append(node.func.value)
    seen = 0
    while pending and seen < 200:
        part = pending.pop()
        seen += 1
        if isinstance(part, ast.expr):
            text = known.text(part, scope)
            if text is not None:
                if _OUTSIDE.search(text):
                    return text
                continue
            if isinstance(part, ast.Call) and known.resolve(part.func, scope) & _HOME:
                return "the home folder"
            if isinstance(part, ast.Name):
                pending += known.values(part, scope)
        pending += _beginnings(part)
    return None


def _beginnings(node: ast.AST) -> list[ast.AST]:
    """Return the parts of an expression that may be the beginning of a path."""
    if isinstance(node, ast.JoinedStr):
        return list(node.values[:1])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [node.left]
    return list(ast.iter_child_nodes(node))


def _judge_import(node: ast.Call, known: Names, scope: Scope, found: Judgement) -> None:
    found.settled = True
    module = known.text(argument(node, 0, "name"), scope)
    if module is None:
        found.hits.append(("computed-import", "the module's name is computed"))


def _judge_getattr(node: ast.Call, known: Names, scope: Scope, found: Judgement) -> None:
    if len(node.args) < 2:
        return
    key = known.text(node.args[1], scope)
    owners = known.resolve(node.args[0], scope)
    if key in INTROSPECTION:
        found.hits.append(("computed-name", str(key)))
    if key is None and owners & POWERFUL:
        found.hits.append(("computed-name", f"getattr({min(owners & POWERFUL)}, …)"))
    for owner in sorted(owners) if key is not None else ():
        if rule := rule_of(f"{owner}.{key}"):
            found.hits.append((rule, f"{owner}.{key}"))


def _judge_variable(node: ast.Call, known: Names, scope: Scope, found: Judgement) -> None:
    found.settled = True
    name = known.text(argument(node, 0, "key"), scope)
    if name is not None and SECRET_NAME.search(name):
        found.hits.append(("secret-read", name))


def _judge_rule(node: ast.Call, name: str, known: Names, scope: Scope, found: Judgement) -> None:
    rule = rule_of(name)
    if rule == "computed-name" and _is_plain(node.func, name):
        found.settled = True
        return
    if rule == "file-write":
        found.settled = True
        _add_file(node, name, known, scope, found, writes=True)
        return
    if rule is not None:
        # Not settled, because the name may have another meaning.
        found.hits.append((rule, name.removeprefix("builtins.")))


def _is_plain(node: ast.expr, name: str) -> bool:
    """Return whether bandit recognises a function as written: ``eval``, ``pickle.loads``."""
    last = name.rpartition(".")[2]
    return ast.unparse(node) in ({last} if name.startswith("builtins.") else {last, name})


def _judge_handed_over(node: ast.Call, known: Names, scope: Scope, found: Judgement) -> None:
    for passed in [*node.args, *(item.value for item in node.keywords)]:
        if isinstance(passed, ast.Name | ast.Attribute):
            modules = known.resolve(passed, scope) & POWERFUL
            if modules:
                found.hits.append(("computed-name", f"the module {min(modules)} is passed on"))
