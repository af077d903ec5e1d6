"""Roles of a kernel's functions, and their requirements on parameters and returned values."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ludus.kernel.contract import Kernel

__all__ = ["HELPER", "POLICY", "Role", "role_of"]

_NUMBERS = ("reward", "terminal")


@dataclass(frozen=True, slots=True)
class Role:
    """A function's role.

    Attributes:
        name: ``initial``, ``transition`` …, ``policy``, or ``helper``.
        classes: The NamedTuple classes of the parameters, by name.
        made: The NamedTuple class that it returns, ``None`` if it returns something else.
        returns: Whether it must return a value.
        fills: Whether it writes to its parameter ``out``.
        rows: How many numbers it returns, 0 if that is not known.
        kinds: The kind of each field of ``made``.
    """

    name: str
    classes: dict[str, Any]
    made: Any = None
    returns: bool = False
    fills: bool = False
    rows: int = 0
    kinds: dict[str, str] | None = None

    def known(self, parameter: str) -> Any:
        """Return the class of a parameter, ``None`` if it is not known."""
        return self.classes.get(parameter)

    def problem(self, value: ast.expr, made: Any) -> str:
        """Return the problem with a returned expression, empty if there is none.

        Args:
            value: The expression.
            made: The NamedTuple class that it creates, if any.
        """
        several = isinstance(value, ast.Tuple | ast.List)
        if self.made is not None:
            name = self.made.__name__
            if several:
                return f"returns a tuple instead of {name}"
            if isinstance(value, ast.Constant | ast.Compare | ast.JoinedStr | ast.Dict):
                return f"returns {ast.unparse(value)} instead of {name}"
            if made is not None and not issubclass(made, self.made):
                return f"returns {made.__name__} instead of {name}"
        elif self.name in _NUMBERS and (several or made is not None):
            return f"returns {'a tuple' if several else made.__name__} instead of one number"
        elif self.rows and isinstance(value, ast.Tuple) and len(value.elts) != self.rows:
            stars = any(isinstance(item, ast.Starred) for item in value.elts)
            found = _numbers(len(value.elts))
            return "" if stars else f"returns {found}; the observation space has {self.rows}"
        return ""

    def wrong_fields(
        self, made: Any, given: dict[str, ast.expr], assigned: Callable[[str], list[ast.expr]]
    ) -> Iterator[tuple[str, str, str]]:
        """Yield rule, field and reason for each wrong field of a NamedTuple that is created.

        Args:
            made: The class; only the one that the function returns is checked.
            given: The expression of each field.
            assigned: Returns the expressions that are assigned to a local name.
        """
        if made is not self.made or self.kinds is None:
            return
        for field, value in given.items():
            kind = self.kinds.get(field)
            if kind in ("int", "bool") and _is_float(value):
                yield "kernel-return-type", field, f"is declared {kind} and gets a float"
            if kind == "array":
                values = assigned(value.id) if isinstance(value, ast.Name) else [value]
                if any(map(_is_new_array, values)):
                    yield "kernel-array-replaced", field, ""
                elif any(isinstance(item, ast.Constant) for item in values):
                    yield "kernel-return-type", field, "is declared an array and gets a number"


def _numbers(count: int) -> str:
    return "1 number" if count == 1 else f"{count} numbers"


def _is_float(value: ast.expr) -> bool:
    if isinstance(value, ast.UnaryOp):
        return _is_float(value.operand)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div):
        return True
    return isinstance(value, ast.Constant) and isinstance(value.value, float)


def _is_new_array(value: ast.expr) -> bool:
    """Return whether an expression creates an array."""
    if isinstance(value, ast.BinOp | ast.List | ast.ListComp):
        return True
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in ("copy", "astype", "array", "zeros", "ones", "empty", "full")
    )


HELPER = Role("helper", {})
POLICY = Role("policy", {}, returns=True)


def role_of(kernel: Kernel, name: str, rows: int) -> Role:
    """Return the role of a kernel's function.

    Args:
        kernel: The kernel.
        name: The function's role in it.
        rows: How many numbers an observation has, 0 if it is an array.
    """
    classes = {"params": kernel.params, "state": kernel.state, "next_state": kernel.state}
    if name in ("initial", "transition"):
        kinds = {field.name: field.kind for field in kernel.state_fields}
        return Role(name, classes, kernel.state, returns=True, kinds=kinds)
    if name == "info":
        kinds = {field.name: field.kind for field in kernel.info_fields}
        return Role(name, classes, kernel.info_class, returns=True, kinds=kinds)
    if name in ("observation", "first_observation"):
        fills = kernel.writes_observation
        return Role(name, classes, returns=not fills, fills=fills, rows=0 if fills else rows)
    return Role(name, classes, returns=True)
