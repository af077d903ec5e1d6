"""Resolution of expressions to qualified names such as ``os.system``."""

from __future__ import annotations

import ast
import builtins
import functools
import re
from typing import TypeVar

from .catalogue import ALIASES, POWERFUL
from .constants import fold
from .scopes import Binding, Scope, build_scopes

__all__ = ["Names", "argument"]

_Item = TypeVar("_Item")

_BUILTINS = {*dir(builtins), "__builtins__", "execfile"}
_DEPTH = 100
_MOST = 64
_STEPS = 3000


class Names:
    """Resolves names in one module through imports, aliases, ``getattr`` and similar."""

    def __init__(self, tree: ast.Module) -> None:
        self.scopes, self.attributes = build_scopes(tree)
        self.gave_up = False
        """Whether an expression had too many possible values to follow."""
        self._steps = 0
        self._known: dict[ast.expr, set[str]] = {}
        self._open: set[ast.expr] = set()

    def resolve(self, node: ast.expr | None, scope: Scope) -> set[str]:
        """Return the qualified names that an expression may refer to."""
        if node is None:
            return set()
        if node not in self._known:
            # Bounds the cost of one expression.
            self._steps = _STEPS
            self._known[node] = self._resolve(node, scope, 0)
        return self._known[node]

    def text(self, node: ast.expr | None, scope: Scope) -> str | None:
        """Return the constant text of an expression, or ``None``."""

        def lookup(name: ast.Name) -> ast.expr | None:
            found = self._bindings(name.id, scope)
            if len(found) == 1 and isinstance(found[0].node, ast.expr) and not found[0].element:
                return found[0].node
            return None

        value = fold(node, lookup)
        return value.decode("latin-1") if isinstance(value, bytes) else value

    def values(self, node: ast.Name, scope: Scope) -> list[ast.expr]:
        """Return the expressions that a name is bound to."""
        found = [binding.node for binding in self._first(self._bindings(node.id, scope))]
        return [item for item in found if isinstance(item, ast.expr)]

    def definitions(self, node: ast.expr, scope: Scope) -> list[ast.AST]:
        """Return the functions and classes of this module that a name may refer to."""
        if not isinstance(node, ast.Name):
            return []
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
        found = [binding.node for binding in self._bindings(node.id, scope)]
        return [item for item in found if isinstance(item, kinds)]

    def is_builtin(self, node: ast.expr, scope: Scope) -> bool:
        """Return whether a name is not bound in the module, so it is a built-in."""
        stars = any(place.stars for place in scope.chain())
        return isinstance(node, ast.Name) and not stars and not self._bindings(node.id, scope)

    def _bindings(self, name: str, scope: Scope) -> list[Binding]:
        for place in scope.chain():
            if name in place.names and name not in place.elsewhere:
                return place.names[name]
        return []

    def _resolve(self, node: ast.expr | None, scope: Scope, depth: int) -> set[str]:
        self._steps -= 1
        if node is None or node in self._open:
            return set()  # a self-reference adds no names
        if node in self._known:
            return self._known[node]
        if depth > _DEPTH or self._steps < 0:
            self.gave_up = True
            return set()
        self._open.add(node)
        found = self._meanings(node, scope, depth + 1)
        self._open.discard(node)
        return set(self._first(sorted(set(map(_canonical, found)))))

    def _meanings(self, node: ast.expr, scope: Scope, depth: int) -> set[str]:
        match node:
            case ast.Name():
                return self._name(node.id, scope, depth)
            case ast.Attribute():
                return self._attribute(node, scope, depth)
            case ast.Call():
                return self._call(node, scope, depth)
            case ast.Subscript():
                return self._subscript(node, scope, depth)
            case ast.IfExp():
                return self._union([node.body, node.orelse], scope, depth)
            case ast.BoolOp():
                return self._union(node.values, scope, depth)
            case ast.BinOp(op=ast.Div()):
                return self._union([node.left], scope, depth)
            case ast.NamedExpr() | ast.Await() | ast.Starred():
                return self._resolve(node.value, scope, depth)
            case _:
                return set()

    def _first(self, items: list[_Item]) -> list[_Item]:
        """Return the items up to the limit; exceeding it sets ``gave_up``."""
        self.gave_up |= len(items) > _MOST
        return items[:_MOST]

    def _union(self, nodes: list[ast.expr], scope: Scope, depth: int) -> set[str]:
        return {name for node in nodes for name in self._resolve(node, scope, depth)}

    def _name(self, name: str, scope: Scope, depth: int) -> set[str]:
        found: set[str] = set()
        for place in scope.chain():
            # A star import may define any name.
            found.update(f"{module}.{name}" for module in place.stars)
            if name in place.names and name not in place.elsewhere:
                for binding in self._first(place.names[name]):
                    found |= self._binding(binding, depth)
                if place.is_local:
                    return found
                break
        return found | {f"builtins.{name}"} if name in _BUILTINS else found

    def _binding(self, binding: Binding, depth: int) -> set[str]:
        if binding.qualified is not None:
            return {binding.qualified}
        if not isinstance(binding.node, ast.expr):
            return set()
        if binding.element:
            return self._elements(binding.node, binding.scope, depth)
        return self._resolve(binding.node, binding.scope, depth)

    def _elements(self, node: ast.expr, scope: Scope, depth: int) -> set[str]:
        """Return the names that the elements of a collection may refer to."""
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return self._union(node.elts, scope, depth)
        if isinstance(node, ast.Dict):
            return self._union(node.values, scope, depth)
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            return self._resolve(node.elt, self.scopes[node], depth)
        if isinstance(node, ast.Name) and depth < _DEPTH:
            found: set[str] = set()
            for binding in self._first(self._bindings(node.id, scope)):
                if isinstance(binding.node, ast.expr) and binding.node is not node:
                    found |= self._elements(binding.node, binding.scope, depth + 1)
            return found
        return set()

    def _attribute(self, node: ast.Attribute, scope: Scope, depth: int) -> set[str]:
        owners = self._resolve(node.value, scope, depth)
        found = {f"{owner}.{node.attr}" for owner in owners}
        for binding in self._first(self.attributes.get(node.attr, [])):
            found |= self._binding(binding, depth)
        return found

    def _subscript(self, node: ast.Subscript, scope: Scope, depth: int) -> set[str]:
        owners = self._resolve(node.value, scope, depth)
        found = self._elements(node.value, scope, depth)
        key = self.text(node.slice, scope)
        for owner in owners if key is not None else ():
            if owner == "sys.modules":
                found.add(str(key))
            elif owner.endswith(".__dict__"):
                found.add(f"{owner.removesuffix('.__dict__')}.{key}")
            elif owner == "builtins":
                found.add(f"builtins.{key}")
            elif owner in {"builtins.globals()", "builtins.locals()"}:
                found |= self._name(str(key), scope, depth)
        return found

    def _call(self, node: ast.Call, scope: Scope, depth: int) -> set[str]:
        found: set[str] = set()
        for definition in self.definitions(node.func, scope):
            inner = self.scopes.get(definition)
            if inner is not None and not isinstance(definition, ast.ClassDef):
                found |= self._union(self._first(inner.returns), inner, depth)
        first = node.args[0] if node.args else None
        for name in self._resolve(node.func, scope, depth):
            if name == "builtins.__import__":
                module = self.text(argument(node, 0, "name"), scope)
                found.update({module, module.partition(".")[0]} if module else ())
            elif name in {"builtins.getattr", "builtins.object.__getattribute__"}:
                key = self.text(node.args[1], scope) if len(node.args) > 1 else None
                if key:
                    found.update(f"{owner}.{key}" for owner in self._resolve(first, scope, depth))
            elif name == "builtins.vars":
                found.update(f"{owner}.__dict__" for owner in self._resolve(first, scope, depth))
            elif name.endswith(("__dict__.get", "__dict__.__getitem__", "__dict__.pop")):
                key = self.text(first, scope)
                found.add(f"{name.rpartition('.__dict__')[0]}.{key}")
            elif name in {"sys.modules.get", "sys.modules.__getitem__"}:
                found.add(self.text(first, scope) or "sys.modules")
            elif name in {"functools.partial", "importlib.reload", "operator.attrgetter()"}:
                found |= self._partial(node, name, first, scope, depth)
            else:
                found.add(f"{name}()")
        return found

    def _partial(
        self, node: ast.Call, name: str, first: ast.expr | None, scope: Scope, depth: int
    ) -> set[str]:
        owners = self._resolve(first, scope, depth)
        if name != "operator.attrgetter()" or not isinstance(node.func, ast.Call):
            return owners
        key = self.text(argument(node.func, 0, ""), scope)
        return {f"{owner}.{key}" for owner in owners}


def argument(node: ast.Call, position: int | None, keyword: str) -> ast.expr | None:
    """Return an argument of a call by its keyword or position, or ``None``."""
    for item in node.keywords:
        if item.arg == keyword:
            return item.value
    return node.args[position] if position is not None and len(node.args) > position else None


_PATH = re.compile(
    r"^pathlib\.Path(\.home|\.cwd)?\(\)"
    r"(\.(parent|(resolve|absolute|joinpath|expanduser|with_\w+)\(\)))*(?=\.|$)"
)
_ROOTS = {name for name in POWERFUL if "." not in name} | {"sys"}


@functools.lru_cache(maxsize=4096)
def _canonical(name: str) -> str:
    """Return the canonical name: ``shutil._os.system`` becomes ``os.system``."""
    if name.startswith("builtins.__builtins__"):
        name = "builtins" + name.removeprefix("builtins.__builtins__")
    parts = name.split(".")
    for index in range(len(parts) - 1, 0, -1):
        # socket.socket is a class, not a reference to the module.
        is_class = parts[index] == "socket" and parts[index - 1] in {"socket", "_socket"}
        if parts[index].lstrip("_") in _ROOTS and not is_class:
            parts = [parts[index].lstrip("_"), *parts[index + 1 :]]
            break
    while len(parts) > 1 and parts[-1] in {"__call__", "__func__", "__wrapped__"}:
        parts.pop()
    for end in range(len(parts), 0, -1):
        meaning = ALIASES.get(".".join(parts[:end]))
        if meaning is not None:
            parts = [meaning, *parts[end:]]
            break
    return _PATH.sub("pathlib.Path()", ".".join(parts))
