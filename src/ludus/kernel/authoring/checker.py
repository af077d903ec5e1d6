# ruff: noqa: D102 - ast names the methods that visit a kind of node
"""Checks the syntax tree of one function against the rules."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

from ludus.kernel.authoring.expressions import (
    bind_problem,
    has_stars,
    is_constant,
    is_constant_list,
    is_target,
    path_of,
)
from ludus.kernel.authoring.flow import endless_loops, falls_off, returns_values, unassigned
from ludus.kernel.authoring.mistakes import Mistake, at_line
from ludus.kernel.authoring.names import ABSENT, is_namedtuple, is_numpy, lookup, refusal, similar
from ludus.kernel.authoring.role import Role
from ludus.kernel.authoring.rules import DEBUGGING
from ludus.kernel.authoring.source import FunctionNode

__all__ = ["Checker"]

_NODES: dict[type[ast.AST], tuple[str, str]] = {
    ast.AsyncFor: ("kernel-generator", "async for"),
    ast.AsyncFunctionDef: ("kernel-nested-function", "The async def"),
    ast.AsyncWith: ("kernel-with", "The async with block"),
    ast.Await: ("kernel-generator", "await"),
    ast.ClassDef: ("kernel-class", "The class"),
    ast.Delete: ("kernel-delete", "The statement"),
    ast.Dict: ("kernel-dict", "The expression"),
    ast.DictComp: ("kernel-dict", "The comprehension"),
    ast.FunctionDef: ("kernel-nested-function", "The def"),
    ast.GeneratorExp: ("kernel-generator", "The expression"),
    ast.Global: ("kernel-global-state", "The global statement"),
    ast.Import: ("kernel-import", "The statement"),
    ast.ImportFrom: ("kernel-import", "The statement"),
    ast.JoinedStr: ("kernel-string", "The f-string"),
    ast.Lambda: ("kernel-nested-function", "The lambda"),
    ast.List: ("kernel-list", "The expression"),
    ast.ListComp: ("kernel-list", "The comprehension"),
    ast.MatchClass: ("kernel-class", "The class pattern"),
    ast.MatchMapping: ("kernel-dict", "The mapping pattern"),
    ast.MatchSequence: ("kernel-list", "The sequence pattern"),
    ast.NamedExpr: ("kernel-assignment-expression", "The expression"),
    ast.Nonlocal: ("kernel-closure", "The nonlocal statement"),
    ast.Set: ("kernel-set", "The expression"),
    ast.SetComp: ("kernel-set", "The comprehension"),
    ast.Try: ("kernel-try", "The try statement"),
    ast.TryStar: ("kernel-try", "The try statement"),
    ast.With: ("kernel-with", "The with block"),
    ast.Yield: ("kernel-generator", "yield"),
    ast.YieldFrom: ("kernel-generator", "yield from"),
}
_WORD = 2**64


class Checker(ast.NodeVisitor):
    """Collects the mistakes of a function, and the helpers that it calls.

    Args:
        function: The function.
        node: Its syntax tree.
        role: Its role in a kernel.
        compiled: Whether it is going to be compiled; plain Python may print.
    """

    def __init__(
        self, function: FunctionType, node: FunctionNode, role: Role, *, compiled: bool
    ) -> None:
        self.mistakes: list[Mistake] = []
        self.helpers: list[tuple[FunctionType, int]] = []
        self._function, self._node, self._role, self._compiled = function, node, role, compiled
        code = function.__code__
        count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4)
        self._parameters = set(code.co_varnames[: count + bool(code.co_flags & 8)])
        stored = {
            name.id
            for name in ast.walk(node)
            if isinstance(name, ast.Name) and not isinstance(name.ctx, ast.Load)
        }
        bound = {
            part.name for part in ast.walk(node) if isinstance(part, ast.MatchAs | ast.MatchStar)
        }
        shared = {
            name for part in ast.walk(node) if isinstance(part, ast.Global) for name in part.names
        }
        self._reassigned = stored
        self._local = (self._parameters | stored | bound) - shared

    def check(self) -> None:
        """Check the whole function."""
        node = self._node
        if isinstance(node, ast.Lambda):
            self.visit(node.body)
            self._check_value(node.body)
            return
        if isinstance(node, ast.AsyncFunctionDef):
            self.add("kernel-generator", node, "The async def")
            return
        if node.args.kwonlyargs or node.args.kwarg:
            self.add("kernel-parameters", node, node.name)
        for statement in node.body:
            self.visit(statement)
        self._check_paths(node)

    def add(self, rule: str, node: ast.AST, what: str, *, reason: str = "", hint: str = "") -> None:
        """Record a mistake."""
        line = getattr(node, "lineno", self._function.__code__.co_firstlineno)
        self.mistakes.append(at_line(rule, self._function, line, what, reason, hint))

    # --- paths and returned values ------------------------------------------------------------

    def _check_paths(self, node: ast.FunctionDef) -> None:
        returned = returns_values(node)
        name = node.name
        if returned or self._role.returns:
            last = node.body[-1]
            empty = [part for part in ast.walk(node) if isinstance(part, ast.Return)]
            for part in empty:
                if part not in returned:
                    self.add("kernel-missing-return", part, name)
            if falls_off(node.body):
                self.add("kernel-missing-return", last if returned else node, name)
        for part in returned:
            assert part.value is not None  # noqa: S101 - returns_values says so
            self._check_value(part.value)
        for loop in endless_loops(node):
            self.add("kernel-endless-loop", loop, "The loop")
        if not any(mistake.rule == "kernel-global-state" for mistake in self.mistakes):
            for use in unassigned(node, self._parameters)[:1]:
                self.add("kernel-unassigned", use, use.id)
        if self._role.fills and not any(
            isinstance(part, ast.Name) and part.id == "out" for part in ast.walk(node)
        ):
            self.add(
                "kernel-return-type",
                node,
                name,
                reason="never writes to its parameter out",
                hint="Fill it: out[...] = ...",
            )

    def _check_value(self, value: ast.expr) -> None:
        if isinstance(value, ast.IfExp):
            self._check_value(value.body)
            self._check_value(value.orelse)
            return
        made = self._class_of(value)
        problem = self._role.problem(value, made)
        if problem:
            self.add("kernel-return-type", value, self._function.__name__, reason=problem)

    def _class_of(self, value: ast.expr) -> Any:
        """Return the NamedTuple class that an expression creates, ``None`` if there is none."""
        if not isinstance(value, ast.Call):
            return None
        path = path_of(value.func)
        if path is None or path[0] in self._local:
            return None
        found, used = lookup(self._function.__globals__, path)
        return found if used == len(path) and is_namedtuple(found) else None

    # --- single nodes -------------------------------------------------------------------------

    def visit(self, node: ast.AST) -> None:
        """Check a node and its children."""
        entry = _NODES.get(type(node))
        if entry is not None and not (isinstance(node, ast.List) and is_target(node)):
            self.add(entry[0], node, entry[1])
            return
        super().visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if node.value is None:
            self.add("kernel-none", node, "The expression")
        elif isinstance(node.value, str | bytes):
            self.add("kernel-string", node, f"{node.value!r:.60}", reason="is a string or bytes")
        elif isinstance(node.value, int) and abs(node.value) >= _WORD:
            self.add("kernel-large-int", node, "The number")

    def visit_MatchSingleton(self, node: ast.MatchSingleton) -> None:
        if node.value is None:
            self.add("kernel-none", node, "The pattern")

    def visit_Expr(self, node: ast.Expr) -> None:
        # A string expression is a comment.
        if not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)):
            self.visit(node.value)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not is_constant(node.value, type(None)):
            self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self.visit(node.target)

    def visit_Raise(self, node: ast.Raise) -> None:
        raised = node.exc
        call = raised if isinstance(raised, ast.Call) else None
        path = path_of(call.func if call else raised) if raised is not None else None
        found = lookup(self._function.__globals__, path)[0] if path else None
        fits = isinstance(found, type) and issubclass(found, BaseException) and node.cause is None
        given = [*call.args, *call.keywords] if call else []
        if not fits or not all(isinstance(part, ast.Constant) for part in given):
            self.add("kernel-raise", node, "The statement")

    def visit_Assert(self, node: ast.Assert) -> None:
        self.visit(node.test)
        if node.msg is not None and not isinstance(node.msg, ast.Constant):
            self.add("kernel-raise", node, "The assertion")

    def visit_For(self, node: ast.For) -> None:
        # Python turns a list of constants after `in` into a tuple.
        for part in (node.target, node.iter, *node.body, *node.orelse):
            if part is not node.iter or not is_constant_list(node.iter):
                self.visit(part)

    def visit_Compare(self, node: ast.Compare) -> None:
        self.visit(node.left)
        for operator, part in zip(node.ops, node.comparators, strict=True):
            if not (isinstance(operator, ast.In | ast.NotIn) and is_constant_list(part)):
                self.visit(part)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self._check_operator(node, node.op, node.left, node.right)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._check_operator(node, node.op, node.target, node.value)
        self.generic_visit(node)

    def _check_operator(
        self, node: ast.AST, operator: ast.operator, left: ast.expr, right: ast.expr
    ) -> None:
        if isinstance(operator, ast.MatMult):
            self.add("kernel-reduction", node, "The product")
        if not isinstance(operator, ast.Pow):
            return
        if isinstance(left, ast.Constant) and isinstance(right, ast.Constant | ast.UnaryOp):
            return  # Python computes it when it compiles
        negative = isinstance(right, ast.UnaryOp) and isinstance(right.op, ast.USub)
        if negative or is_constant(right, float) or is_constant(left, float):
            self.add("kernel-float-power", node, "The expression")

    def visit_Call(self, node: ast.Call) -> None:
        path = path_of(node.func)
        if path is not None and path[0] not in self._local:
            found, used = lookup(self._function.__globals__, path)
            refused = refusal(found) if found is not ABSENT else None
            if refused is not None and refused.rule in DEBUGGING:
                if self._compiled:
                    self.add(refused.rule, node, f"{'.'.join(path)}()")
                return
            if used == len(path) and self._check_call(node, found, ".".join(path)):
                return
        self.generic_visit(node)

    def _check_call(self, node: ast.Call, called: Any, name: str) -> bool:
        """Check the arguments of a call; return whether they need no further checks."""
        if called is round and len(node.args) + len(node.keywords) > 1:
            self.add("kernel-round-digits", node, f"{name}()")
        if called in (float, int) and node.args and is_constant(node.args[0], str):
            self.add("kernel-string", node, f"{name}()", hint="Use math.inf or math.nan.")
            return True
        if called is self._function:
            return False
        if is_namedtuple(called):
            rule = "kernel-fields"
        elif isinstance(called, FunctionType):
            rule = "kernel-call"
        else:
            return False
        if not has_stars(node):
            problem = bind_problem(called, node)
            if problem:
                self.add(rule, node, f"{name}()", reason=f"does not fit its parameters: {problem}")
            elif is_namedtuple(called):
                self._check_fields(node, called)
        return False

    def _check_fields(self, node: ast.Call, made: Any) -> None:
        given = dict(zip(made._fields, node.args, strict=False))
        given |= {word.arg: word.value for word in node.keywords}
        for rule, field, problem in self._role.wrong_fields(made, given, self._assigned):
            self.add(rule, given[field], f"{made.__name__}.{field}", reason=problem)

    def _assigned(self, name: str) -> list[ast.expr]:
        """Return the values that are assigned to a local name in the function."""
        return [
            part.value
            for part in ast.walk(self._node)
            if isinstance(part, ast.Assign)
            and any(isinstance(target, ast.Name) and target.id == name for target in part.targets)
        ]

    # --- names --------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and node.id not in self._local:
            self._check_global(node, [node.id])

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = path_of(node)
        if path is None:
            self.visit(node.value)
        elif not isinstance(node.ctx, ast.Load):
            rule = "kernel-field-assignment" if path[0] in self._local else "kernel-global-state"
            self.add(rule, node, ".".join(path))
        elif path[0] in self._local:
            self._check_field(node, path)
        else:
            self._check_global(node, path)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if not isinstance(node.ctx, ast.Load):
            root: ast.expr = node
            while isinstance(root, ast.Subscript | ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id not in self._local:
                self.add("kernel-global-state", node, root.id)
                return
            if isinstance(root, ast.Name) and root.id == "params" and self._role.known("params"):
                self.add("kernel-params-changed", node, "The assignment")
                return
        self.generic_visit(node)

    def _check_field(self, node: ast.AST, path: list[str]) -> None:
        name = path[0]
        if name in self._reassigned:
            return
        if name == "rng" and name in self._parameters:
            self.add("kernel-rng-method", node, ".".join(path[:2]))
            return
        owner = self._role.known(name)
        if owner is None or path[1] in owner._fields:
            return
        if path[1] in ("_replace", "_asdict", "_make"):
            self.add(
                "kernel-unknown-field",
                node,
                ".".join(path[:2]),
                reason="is a method that compiled code does not have",
                hint=f"Write {owner.__name__}(...) with every field.",
            )
            return
        fields = ", ".join(owner._fields) or "no fields"
        self.add(
            "kernel-unknown-field",
            node,
            ".".join(path[:2]),
            reason=f"is not a field of {owner.__name__}, which has {fields}",
        )

    def _check_global(self, node: ast.AST, path: list[str]) -> None:
        names = self._function.__globals__
        found, used = lookup(names, path)
        shown = ".".join(path[:used])
        if found is ABSENT:
            hint = similar(path[0], names) if used == 1 else ""
            self.add("kernel-undefined-name", node, shown, hint=hint)
            return
        refused = refusal(found)
        if refused is not None and (self._compiled or refused.rule not in DEBUGGING):
            self.add(refused.rule, node, shown, hint=refused.hint)
        elif isinstance(found, FunctionType) and refused is None and not is_numpy(found):
            if used > 1:
                hint = f"Write `from {found.__module__} import {found.__name__}`."
                self.add("kernel-dotted-helper", node, shown, hint=hint)
            self.helpers.append((found, getattr(node, "lineno", 0)))
