"""Checks what a kernel's functions return: values in plain Python, types when compiled.

Both are described by the same kinds, so that a mistake is reported with the same error in both.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from ludus.kernel.authoring.flow import returns_values
from ludus.kernel.authoring.mistakes import Mistake, at_function, at_line, kernel_error
from ludus.kernel.authoring.role import POLICY, Role, role_of
from ludus.kernel.authoring.source import function_node
from ludus.kernel.contract import COMPILED_ROLES, Kernel

__all__ = [
    "Expectation",
    "Kind",
    "Several",
    "checked",
    "expectations",
    "kind_of_value",
    "policy_of",
]

_SCALARS = ("float", "int", "bool")
_ARTICLES = {"int": "an int", "array": "an array", "None": "None", "float": "a float"}


class Several(NamedTuple):
    """A tuple: its class if it is a NamedTuple, and the kind of each item."""

    made: Any
    kinds: tuple[Any, ...]

    def __str__(self) -> str:
        if self.made is not None:
            return str(self.made.__name__)
        count = len(self.kinds)
        return f"a tuple of {count} {'value' if count == 1 else 'values'}"


Kind = str | Several
"""Kind of a returned value: float, int, bool, array, None, the name of another type, or a tuple."""


def kind_of_value(value: Any) -> Kind:
    """Return the kind of a value of plain Python."""
    for kinds, name in (
        ((bool, np.bool_), "bool"),
        ((int, np.integer), "int"),
        ((float, np.floating), "float"),
        (np.ndarray, "array"),
    ):
        if isinstance(value, kinds):
            return name
    if value is None:
        return "None"
    if isinstance(value, tuple):
        made = type(value) if hasattr(value, "_fields") else None
        return Several(made, tuple(map(kind_of_value, value)))
    return type(value).__name__


class Expectation(NamedTuple):
    """What one function of a kernel must return.

    Attributes:
        title: Name of the kernel or the policy in messages.
        function: The function.
        role: Its role.
        whole: Whether all numbers of an observation, or of an action, must be ints.
        single: Whether it must return one number, not a tuple of one.
        rows: How many numbers it must return; 0 if that does not apply.
    """

    title: str
    function: Any
    role: Role
    whole: bool = False
    single: bool = False
    rows: int = 0

    def problem(self, kind: Kind) -> str:
        """Return the problem with a returned kind, empty if there is none."""
        role = self.role
        if kind == "None":
            return "returns nothing on one path, where Python would return None"
        if role.made is not None:
            return self._fields_problem(kind)
        if role.name == "terminal":
            return "" if kind in ("bool", "int") else f"returns {told(kind)} instead of a bool"
        if role.name == "reward":
            return "" if kind in _SCALARS else f"returns {told(kind)} instead of one number"
        return self._numbers_problem(kind) if self.rows else ""

    def mistake(self, problem: str) -> Mistake:
        """Return the mistake for a wrong returned value, placed at the ``return``."""
        rule = "kernel-missing-return" if "nothing" in problem else "kernel-return-type"
        name = self.function.__name__
        node = function_node(self.function) if isinstance(self.function, FunctionType) else None
        returns = returns_values(node) if isinstance(node, ast.FunctionDef) else []
        if len(returns) != 1:
            return at_function(rule, self.function, name, problem)
        return at_line(rule, self.function, returns[0].lineno, name, problem)

    def _fields_problem(self, kind: Kind) -> str:
        made = self.role.made
        if not isinstance(kind, Several) or kind.made is None or not issubclass(kind.made, made):
            return f"returns {told(kind)} instead of {made.__name__}"
        for field, found in zip(made._fields, kind.kinds, strict=False):
            declared = (self.role.kinds or {}).get(field, "float")
            if declared == "array":
                fits = found == "array"
            else:
                fits = found in _SCALARS and not (found == "float" and declared != "float")
            if not fits:
                return (
                    f"returns {made.__name__} with {told(found)} in the field {field}, which is "
                    f"declared {declared}"
                )
        return ""

    def _numbers_problem(self, kind: Kind) -> str:
        subject = "action" if self.role.name == "policy" else "observation"
        numbers = f"{self.rows} number{'s' if self.rows > 1 else ''}"
        if kind == "array":
            return "returns an array instead of one number" if self.single else ""
        if self.single != (kind in _SCALARS):
            expected = "one number" if self.single else f"a tuple of {numbers}"
            return f"returns {told(kind)} instead of {expected}"
        if not isinstance(kind, Several):
            kinds: tuple[Any, ...] = (kind,)
        elif len(kind.kinds) != self.rows:
            return f"returns {told(kind)}; the {subject} space has {numbers}"
        else:
            kinds = kind.kinds
        wrong = [found for found in kinds if found not in _SCALARS]
        if wrong:
            return f"returns {told(wrong[0])} as a number of the {subject}"
        if self.whole and "float" in kinds:
            return f"returns a float; the {subject} space has ints"
        return ""


def told(kind: Kind) -> str:
    """Return a kind as part of a sentence."""
    return str(kind) if isinstance(kind, Several) else _ARTICLES.get(kind, f"a {kind}")


def expectations(kernel: Kernel, rows: int, dtype: str) -> dict[str, Expectation]:
    """Return what each of a kernel's functions must return, by the function's role.

    Args:
        kernel: The kernel.
        rows: How many numbers an observation has, 0 if it is an array.
        dtype: NumPy's code of the observation's dtype.
    """
    found = {}
    for name in COMPILED_ROLES:
        function = getattr(kernel, name)
        if function is not None:
            role = role_of(kernel, name, rows)
            single = rows == 1 and kernel.observes_one_number
            count = rows if "observation" in name and not role.fills else 0
            whole = np.dtype(dtype).kind in "iub"
            found[name] = Expectation(f"Kernel {kernel.name}", function, role, whole, single, count)
    return found


def policy_of(policy: Any, actions: str) -> Expectation:
    """Return the expectation of a policy; ``actions`` has ``i`` or ``f`` for each number."""
    title = f"Policy {getattr(policy, '__name__', policy)}"
    whole, single = "f" not in actions, actions == "i"
    return Expectation(title, policy, POLICY, whole, single, len(actions))


def checked(expected: Expectation, *, given: int | None = None) -> Callable[..., Any]:
    """Return a function for plain Python that checks its returned values.

    Args:
        expected: The function, and what it must return.
        given: Index of the argument whose array fields must be passed on, if any.

    Raises:
        KernelError: From the returned function.
    """
    function, role = expected.function, expected.role
    if role.fills:
        return function  # type: ignore[no-any-return]
    passed_on = {} if given is None else role.kinds or {}
    arrays = [name for name, kind in passed_on.items() if kind == "array"]

    def call(*args: Any) -> Any:
        value = function(*args)
        problem = expected.problem(kind_of_value(value))
        if problem:
            raise kernel_error(expected.title, [expected.mistake(problem)])
        for field in arrays:
            if not np.may_share_memory(getattr(args[given or 0], field), getattr(value, field)):
                problem = f"puts another array into the field {field} than the one it was given"
                mistake = replace(expected.mistake(problem), rule="kernel-array-replaced")
                raise kernel_error(expected.title, [mistake])
        return value

    return call
