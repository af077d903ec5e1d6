"""Checks the source of a kernel's functions, and of all helpers that they call.

Functions of Ludus are not checked here, but by a test.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from ludus.kernel.authoring.bytecode import check_instructions
from ludus.kernel.authoring.checker import Checker
from ludus.kernel.authoring.mistakes import Mistake, at_function, at_line, kernel_error
from ludus.kernel.authoring.role import HELPER, POLICY, Role, role_of
from ludus.kernel.authoring.source import function_node
from ludus.kernel.contract import COMPILED_ROLES, Kernel

__all__ = ["is_own", "mistakes_of", "reached", "validate", "validate_policy"]

# Kernels that passed: whether compiled, and the number of numbers in an observation.
_passed: WeakKeyDictionary[Kernel, set[tuple[bool, int]]] = WeakKeyDictionary()


def validate(kernel: Kernel, rows: int, *, compiled: bool) -> None:
    """Check a kernel once.

    Args:
        kernel: The kernel.
        rows: How many numbers an observation has, 0 if it is an array.
        compiled: Whether it is going to be compiled; plain Python may print.

    Raises:
        KernelError: A function breaks a rule; all broken rules are listed.
    """
    passed = _passed.setdefault(kernel, set())
    if (compiled, rows) in passed:
        return
    roles = {
        function: role_of(kernel, name, rows)
        for name in COMPILED_ROLES
        if not is_own(function := getattr(kernel, name)) and function is not None
    }
    found = mistakes_of(roles, compiled=compiled)
    if found:
        raise kernel_error(f"Kernel {kernel.name}", found)
    passed.add((compiled, rows))


def validate_policy(policy: Any, *, compiled: bool) -> None:
    """Check a policy that runs inside a rollout.

    Raises:
        KernelError: It breaks a rule; all broken rules are listed.
    """
    if is_own(policy) or not isinstance(policy, FunctionType):
        return
    found = mistakes_of({policy: POLICY}, compiled=compiled)
    if found:
        raise kernel_error(f"Policy {policy.__name__}", found)


def is_own(function: Any) -> bool:
    """Return whether a function is part of Ludus."""
    return (getattr(function, "__module__", None) or "").startswith("ludus.")


def reached(functions: Iterable[Any]) -> list[FunctionType]:
    """Return the functions and all helpers that they call, without those of Ludus."""
    walk = _Walk(compiled=False)
    for function in functions:
        if isinstance(function, FunctionType) and not is_own(function):
            walk.visit(function, HELPER, ())
    return list(walk.seen)


def mistakes_of(roles: dict[Any, Role], *, compiled: bool) -> list[Mistake]:
    """Return the mistakes of functions and of the helpers they call, in the order of the calls."""
    walk = _Walk(compiled=compiled)
    for function, role in roles.items():
        walk.visit(function, role, ())
    return list(dict.fromkeys(walk.mistakes))


class _Walk:
    """Follows calls from function to function."""

    def __init__(self, *, compiled: bool) -> None:
        self.mistakes: list[Mistake] = []
        self.seen: set[FunctionType] = set()
        self._compiled = compiled

    def visit(self, function: FunctionType, role: Role, callers: tuple[Any, ...]) -> None:
        if function in self.seen:
            return
        self.seen.add(function)
        if function.__closure__:
            names = ", ".join(function.__code__.co_freevars)
            reason = f"uses {names} of an enclosing function, which compiled code cannot see"
            self.mistakes.append(at_function("kernel-closure", function, function.__name__, reason))
            return
        node = function_node(function)
        if node is None:
            mistakes, helpers = check_instructions(function, compiled=self._compiled)
        else:
            checker = Checker(function, node, role, compiled=self._compiled)
            checker.check()
            mistakes, helpers = checker.mistakes, checker.helpers
        self.mistakes += mistakes
        for helper, line in helpers:
            if helper in (*callers, function):
                what = f"{helper.__name__}()"
                self.mistakes.append(at_line("kernel-recursion", function, line, what))
            elif not is_own(helper):
                self.visit(helper, HELPER, (*callers, function))
