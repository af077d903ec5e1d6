"""Analysis of one module: finds effects, and whether they happen at import.

The walk over the syntax tree is iterative, so that deep nesting cannot exhaust the stack.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from .calls import judge_call
from .catalogue import EFFECTS, INTROSPECTION, POWERFUL, SECRET_NAME, SECRET_PATH, rule_of
from .declared import declaration
from .names import Names
from .scopes import Function, Scope

__all__ = ["Hit", "scan_module"]

_COMPARING = {"builtins.isinstance", "builtins.issubclass"}
_MOST_HITS = 1000
_WALKED = (
    ast.stmt,
    ast.expr,
    ast.arguments,
    ast.arg,
    ast.keyword,
    ast.comprehension,
    ast.excepthandler,
    ast.withitem,
    ast.match_case,
    ast.pattern,
    getattr(ast, "type_param", ast.expr),  # since Python 3.12
)
"""Nodes that can contain expressions, unlike operators and contexts."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A match of a rule: the rule, the line, and the name or text that matched."""

    rule: str
    line: int
    detail: str


@dataclass(frozen=True, slots=True)
class _Place:
    """Context of a node."""

    scope: Scope
    function: ast.AST | None
    """The enclosing function; ``None`` for code that runs at import."""
    called: bool = False
    """Whether the node is part of a call."""
    annotation: bool = False


class _Walk:
    def __init__(self, tree: ast.Module, script: bool) -> None:
        self.names = Names(tree)
        self.script = script
        self.hits: list[tuple[Hit, _Place]] = []
        self.specs: list[dict[str, Any]] = []
        self.reaches: dict[ast.AST | None, set[ast.AST]] = {}
        self.methods: dict[str, list[ast.AST]] = {}
        self.stack: list[tuple[ast.AST, _Place]] = []
        module = self.names.scopes[tree]
        for node, scope in self.names.scopes.items():
            outer = None if scope.parent is None else scope.parent.node
            if isinstance(node, Function) and isinstance(outer, ast.ClassDef):
                self.methods.setdefault(getattr(node, "name", ""), []).append(node)
        self.stack = [(node, _Place(module, None)) for node in reversed(tree.body)]

    def run(self) -> None:
        while self.stack and len(self.hits) < _MOST_HITS:
            node, place = self.stack.pop()
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() | ast.ClassDef():
                    self._definition(node, place)
                case ast.Call():
                    self._call(node, place)
                case ast.Name(ctx=ast.Store()):
                    pass
                case ast.Attribute() | ast.Name():
                    self._mention(node, place)
                case ast.Subscript():
                    self._subscript(node, place)
                case ast.Constant():
                    self._constant(node, place)
                case ast.Expr(value=ast.Constant()):
                    pass  # a docstring
                case ast.If() if not self.script and _is_main_guard(node.test):
                    self._push(node.body, replace(place, function=node))
                    self._push(node.orelse, place)
                case ast.AnnAssign():
                    self._push([node.annotation], replace(place, annotation=True))
                    self._push([node.target, node.value], place)
                case ast.arg():
                    self._push([node.annotation], replace(place, annotation=True))
                case _:
                    if node in self.names.scopes:
                        place = replace(place, scope=self.names.scopes[node])
                    self._push(ast.iter_child_nodes(node), place)

    def hit(self, rule: str, node: ast.AST, detail: str, place: _Place) -> None:
        found = Hit(rule, getattr(node, "lineno", 1), detail[:200])
        self.hits.append((found, place))

    def _push(self, nodes: Any, place: _Place) -> None:
        self.stack += [(node, place) for node in nodes if isinstance(node, _WALKED)]

    def _definition(self, node: Any, place: _Place) -> None:
        inner = self.names.scopes[node]
        self._push(getattr(node, "type_params", ()), place)
        if isinstance(node, ast.ClassDef):
            self._push([*node.bases, *node.keywords], place)
            self._push(node.body, replace(place, scope=inner, called=False))
        else:
            self._push([node.args], place)
            self._push([getattr(node, "returns", None)], replace(place, annotation=True))
            body = [node.body] if isinstance(node, ast.Lambda) else node.body
            self._push(body, _Place(inner, node))
        for decorator in getattr(node, "decorator_list", ()):
            self._reach(decorator, place)
            self._push([decorator], replace(place, called=True))

    def _call(self, node: ast.Call, place: _Place) -> None:
        self._reach(node.func, place)
        for argument in [*node.args, *(item.value for item in node.keywords)]:
            # A function that is passed as an argument may be called at once.
            self._reach(argument, place, classes=False)
        names = self.names.resolve(node.func, place.scope)
        spec = declaration(node, names, self.names, place.scope)
        if spec is not None:
            self.specs.append(spec)
        rules = judge_call(node, names, self.names, place.scope)
        here = replace(place, called=True)
        for rule, detail in rules.hits:
            self.hit(rule, node, detail, here)
        # Types in isinstance() are treated like annotations.
        compares = names <= _COMPARING and self.names.is_builtin(node.func, place.scope)
        inner = replace(place, annotation=True, called=False) if compares else here
        self._push([*node.args, *(item.value for item in node.keywords)], inner)
        if not rules.settled:
            self._push([node.func], here)
        elif isinstance(node.func, ast.Attribute):
            self._push([_base(node.func)], here)

    def _mention(self, node: ast.Attribute | ast.Name, place: _Place) -> None:
        if isinstance(node, ast.Attribute) and node.attr in INTROSPECTION:
            self.hit("computed-name", node, node.attr, place)
        if place.annotation and not place.called:
            return
        names = self.names.resolve(node, place.scope)
        rules = {rule: name for name in sorted(names) if (rule := rule_of(name))}
        for rule, name in rules.items():
            self.hit(rule, node, name.removeprefix("builtins."), place)
        if isinstance(node, ast.Attribute):
            # The beginning of a name that matched is not reported again.
            self._push([_base(node) if rules else node.value], place)

    def _subscript(self, node: ast.Subscript, place: _Place) -> None:
        owners = self.names.resolve(node.value, place.scope)
        key = self.names.text(node.slice, place.scope)
        for owner in sorted(owners):
            if owner in {"os.environ", "os.environb"}:
                if isinstance(node.ctx, ast.Load) and key and SECRET_NAME.search(key):
                    self.hit("secret-read", node, key, replace(place, called=True))
                self._push([node.slice], place)
                return
            held = owner.removesuffix(".__dict__")
            if key is None and held in POWERFUL and owner not in {"os", "importlib", "shutil"}:
                self.hit("computed-name", node, f"{owner}[…]", place)
        rules = {rule_of(name) for name in self.names.resolve(node, place.scope)} - {None}
        for rule in sorted(map(str, rules)):
            self.hit(rule, node, key or "an element", place)
        self._push([node.value, node.slice], place)

    def _constant(self, node: ast.Constant, place: _Place) -> None:
        text = node.value
        if isinstance(text, str) and len(text) < 4096 and (match := SECRET_PATH.search(text)):
            self.hit("secret-read", node, match[0], replace(place, called=False))

    def _reach(self, node: ast.expr, place: _Place, classes: bool = True) -> None:
        """Record which functions of this module the node may call."""
        reached = self.reaches.setdefault(place.function, set())
        if isinstance(node, ast.Lambda):
            reached.add(node)
        for definition in self.names.definitions(node, place.scope):
            if not isinstance(definition, ast.ClassDef):
                reached.add(definition)
            elif classes:
                made = {"__init__", "__new__", "__post_init__", "__enter__"}
                reached.update(
                    item for item in definition.body if getattr(item, "name", "") in made
                )
        if classes and isinstance(node, ast.Attribute):
            reached.update(self.methods.get(node.attr, ()))

    def at_import(self) -> set[ast.AST | None]:
        """Return the functions that run at import; ``None`` is the module's own code."""
        reached: set[ast.AST | None] = {None}
        pending: list[ast.AST | None] = [None]
        while pending:
            for function in self.reaches.get(pending.pop(), set()) - reached:
                reached.add(function)
                pending.append(function)
        return reached


def scan_module(tree: ast.Module, *, script: bool) -> tuple[list[Hit], list[dict[str, Any]]]:
    """Return the matches in a module, and the environments that it registers.

    Args:
        tree: The module.
        script: Whether it is run as a program, so that code in a main guard runs, too.
    """
    walk = _Walk(tree, script)
    walk.run()
    early = walk.at_import()
    hits = {hit: None for hit, _ in walk.hits}
    for hit, place in walk.hits:
        if hit.rule in EFFECTS and place.called and place.function in early:
            hits[Hit("import-time-effect", hit.line, f"{hit.rule}: {hit.detail}")] = None
    if walk.names.gave_up:
        hits[Hit("unscanned-file", 1, "too many aliases to resolve all names")] = None
    if len(walk.hits) >= _MOST_HITS:
        hits[Hit("unscanned-file", walk.hits[-1][0].line, "too many findings; stopped")] = None
    return list(_one_per_line(hits)), walk.specs


def _one_per_line(hits: dict[Hit, None]) -> Iterator[Hit]:
    seen = set()
    for hit in sorted(hits, key=lambda hit: (hit.line, hit.rule, hit.detail)):
        if (hit.rule, hit.line) not in seen:
            seen.add((hit.rule, hit.line))
            yield hit


def _base(node: ast.Attribute) -> ast.expr | None:
    """Return the first expression of a chain of attributes, unless it is a plain name."""
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    return None if isinstance(inner, ast.Name) else inner


def _is_main_guard(test: ast.expr) -> bool:
    return ast.dump(test) in _MAIN_GUARDS


_MAIN_GUARDS = {
    ast.dump(ast.parse(text, mode="eval").body)
    for text in ('__name__ == "__main__"', '"__main__" == __name__')
}
