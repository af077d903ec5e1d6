"""Scopes of a module and the bindings of their names.

The order of bindings is ignored: a name may refer to anything that it is ever bound to. A name
bound in a module or class body may also refer to the built-in of that name, because it may be
unbound when it is used. So ``eval = eval`` or a decoy definition hides nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Binding", "Function", "Scope", "build_scopes"]

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_INERT = {ast.Name, ast.Constant, ast.Load, ast.Store, ast.Del, ast.Pass, ast.Break, ast.Continue}
_PLAIN = {ast.Attribute, ast.Subscript, ast.BinOp, ast.Compare, ast.Tuple, ast.List, ast.Expr}
"""The most common nodes without children, and those that bind no name."""


@dataclass(slots=True)
class Binding:
    """One binding of a name: a qualified name, a definition, an expression, or unknown."""

    scope: Scope
    qualified: str | None = None
    node: ast.AST | None = None
    element: bool = False
    """Whether the name is bound to an element of the expression, like a loop variable."""


@dataclass(slots=True, eq=False)
class Scope:
    """A module, class, function, lambda or comprehension."""

    node: ast.AST
    parent: Scope | None
    names: dict[str, list[Binding]] = field(default_factory=dict)
    elsewhere: set[str] = field(default_factory=set)
    """Names declared global or nonlocal."""
    returns: list[ast.expr] = field(default_factory=list)
    stars: list[str] = field(default_factory=list)

    @property
    def is_local(self) -> bool:
        """Whether names bound here never fall back to a built-in."""
        return not isinstance(self.node, ast.Module | ast.ClassDef)

    def bind(self, name: str, binding: Binding) -> None:
        """Add a binding of a name."""
        self.names.setdefault(name, []).append(binding)

    def chain(self) -> Iterator[Scope]:
        """Iterate over the scopes in which a name used here is looked up."""
        scope: Scope | None = self
        while scope is not None:
            if scope is self or not isinstance(scope.node, ast.ClassDef):
                yield scope
            scope = scope.parent


def build_scopes(
    tree: ast.Module,
) -> tuple[dict[ast.AST, Scope], dict[str, list[Binding]]]:
    """Return the scopes by their nodes, and the bindings of attributes.

    Attributes are distinguished by name only: after ``self.x = os`` every ``.x`` may be ``os``.
    """
    module = Scope(tree, None)
    scopes: dict[ast.AST, Scope] = {tree: module}
    attributes: dict[str, list[Binding]] = {}
    stack: list[tuple[ast.AST, Scope]] = [(node, module) for node in reversed(tree.body)]
    while stack:
        node, scope = stack.pop()
        if type(node) in _INERT:
            continue
        inner = scope
        outer: set[ast.AST] = set()
        if isinstance(node, _DEFINITIONS | ast.Lambda | _COMPREHENSIONS):
            inner = scopes[node] = Scope(node, scope)
            outer = _evaluated_outside(node)
            if isinstance(node, Function):
                _bind_parameters(node, inner, scope)
        if type(node) not in _PLAIN:
            _bind(node, scope, inner, attributes)
        stack += [
            (child, scope if child in outer else inner) for child in ast.iter_child_nodes(node)
        ]
    for node, scope in scopes.items():
        for name in scope.elsewhere & set(scope.names):
            moved = scope.names.pop(name)
            module.names.setdefault(name, []).extend(moved)
            # A nonlocal name belongs to an enclosing function; for a global one this is harmless.
            for place in scope.chain():
                if place is not module and name in place.names:
                    place.names[name] = [*place.names[name], *moved]
        if isinstance(node, ast.ClassDef):
            for name, bindings in scope.names.items():
                attributes.setdefault(name, []).extend(bindings)
    return scopes, attributes


def _evaluated_outside(node: ast.AST) -> set[ast.AST]:
    """Return the children of a node that are evaluated in the enclosing scope."""
    if isinstance(node, ast.ClassDef):
        return {*node.bases, *node.keywords, *node.decorator_list}
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        returns = [] if node.returns is None else [node.returns]
        return {*node.decorator_list, *returns, node.args}
    if isinstance(node, ast.Lambda):
        return {node.args}
    return set()


def _bind_parameters(node: Function, inner: Scope, outer: Scope) -> None:
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults]
    pairs = [
        *zip(positional, defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        *[(extra, None) for extra in (arguments.vararg, arguments.kwarg) if extra is not None],
    ]
    for argument, default in pairs:
        inner.bind(argument.arg, Binding(outer, node=default))
    if isinstance(node, ast.Lambda):
        inner.returns.append(node.body)


def _bind(node: ast.AST, scope: Scope, inner: Scope, attributes: dict[str, list[Binding]]) -> None:
    if isinstance(node, ast.Import):
        for alias in node.names:
            name, _, _ = alias.name.partition(".")
            qualified = alias.name if alias.asname else name
            scope.bind(alias.asname or name, Binding(scope, qualified=qualified))
    elif isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            if alias.name == "*":
                scope.stars.append(module)
            else:
                dotted = module if module.endswith(".") else module + "."
                scope.bind(
                    alias.asname or alias.name, Binding(scope, qualified=dotted + alias.name)
                )
    elif isinstance(node, _DEFINITIONS):
        scope.bind(node.name, Binding(scope, node=node))
    elif isinstance(node, ast.Global | ast.Nonlocal):
        scope.elsewhere.update(node.names)
    elif isinstance(node, ast.Return) and node.value is not None:
        scope.returns.append(node.value)
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            _bind_target(target, node.value, scope, attributes)
    elif isinstance(node, ast.AnnAssign | ast.AugAssign) and node.value is not None:
        _bind_target(node.target, node.value, scope, attributes)
    elif isinstance(node, ast.NamedExpr):
        home = scope
        while isinstance(home.node, _COMPREHENSIONS) and home.parent is not None:
            home = home.parent
        home.bind(node.target.id, Binding(scope, node=node.value))
    elif isinstance(node, ast.For | ast.AsyncFor):
        _bind_target(node.target, node.iter, scope, attributes, element=True)
    elif isinstance(node, _COMPREHENSIONS):
        for part in node.generators:
            _bind_target(part.target, part.iter, inner, attributes, element=True)
    elif isinstance(node, ast.With | ast.AsyncWith):
        for item in node.items:
            if item.optional_vars is not None:
                _bind_target(item.optional_vars, item.context_expr, scope, attributes)
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        scope.bind(node.name, Binding(scope))
    elif isinstance(node, ast.Call) and _is_setattr(node):
        key = node.args[1]
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            attributes.setdefault(key.value, []).append(Binding(scope, node=node.args[2]))


def _is_setattr(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "setattr" and len(node.args) == 3


def _bind_target(
    target: ast.expr,
    value: ast.expr,
    scope: Scope,
    attributes: dict[str, list[Binding]],
    *,
    element: bool = False,
) -> None:
    pending = [(target, value, element)]
    while pending:
        target, value, element = pending.pop()
        if isinstance(target, ast.Name):
            scope.bind(target.id, Binding(scope, node=value, element=element))
        elif isinstance(target, ast.Attribute):
            found = Binding(scope, node=value, element=element)
            attributes.setdefault(target.attr, []).append(found)
        elif isinstance(target, ast.Starred):
            pending.append((target.value, value, True))
        elif isinstance(target, ast.Tuple | ast.List):
            parts = target.elts
            if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(parts):
                values = value.elts
                pending += [(*pair, element) for pair in zip(parts, values, strict=True)]
            else:
                pending += [(part, value, True) for part in parts]
