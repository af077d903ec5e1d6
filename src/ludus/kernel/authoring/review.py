"""Checks one kernel: its source, its returned values, and its compiled code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FunctionType
from typing import Any

from ludus.kernel.authoring.compile_errors import explained
from ludus.kernel.authoring.mistakes import Mistake, kernel_error
from ludus.kernel.authoring.returned import Expectation, checked, expectations, policy_of
from ludus.kernel.authoring.typed import (
    foreign_symbols,
    interpreter_mistake,
    return_mistakes,
    typed_mistakes,
)
from ludus.kernel.authoring.validation import validate, validate_policy
from ludus.kernel.contract import COMPILED_ROLES, Kernel

__all__ = ["Review"]


class Review:
    """The checks of a kernel, which a program calls at the right times.

    Args:
        kernel: The kernel.
        rows: How many numbers an observation has, 0 if it is an array.
        dtype: NumPy's code of the observation's dtype.
        actions: ``i`` or ``f`` for each number of an action.
    """

    def __init__(self, kernel: Kernel, rows: int, dtype: str, actions: str) -> None:
        self._kernel, self._rows, self._actions = kernel, rows, actions
        self._expected = expectations(kernel, rows, dtype)

    def validate(self, *, compiled: bool) -> None:
        """Check the source, once per kernel.

        Raises:
            KernelError: It breaks a rule.
        """
        validate(self._kernel, self._rows, compiled=compiled)

    def plain(self, role: str) -> Callable[..., Any]:
        """Return a function of the kernel for plain Python that checks its returned values."""
        states = {"transition": 1, "initial": 1 if self._kernel.keeps_state else None}
        return checked(self._expected[role], given=states.get(role))

    @contextmanager
    def compiling(self, dispatchers: dict[Any, Any]) -> Iterator[Callable[[Any], None]]:
        """Return a context for compiling, which yields a check of the compiled code.

        Args:
            dispatchers: Numba's dispatchers by plain function, filled while compiling.

        Raises:
            KernelError: The kernel cannot be compiled, or not run compiled.
        """
        roles = (getattr(self._kernel, role) for role in COMPILED_ROLES)
        functions = [function for function in roles if function is not None]
        title = f"Kernel {self._kernel.name}"
        with _compiling(title, functions, dispatchers, self._expected) as check:
            yield check

    def policy(self, policy: Any, *, compiled: bool) -> Any:
        """Check a policy's source; return it, in plain Python with a check of its actions.

        Raises:
            KernelError: It breaks a rule.
        """
        validate_policy(policy, compiled=compiled)
        return policy if compiled else checked(policy_of(policy, self._actions))

    def compiling_policy(
        self, policy: Any, dispatchers: dict[Any, Any]
    ) -> AbstractContextManager[Callable[[Any], None]]:
        """Return the context of :meth:`compiling` for a policy."""
        expected = {"policy": policy_of(policy, self._actions)}
        return _compiling(expected["policy"].title, [policy], dispatchers, expected, wrapped=True)


@contextmanager
def _compiling(
    title: str,
    functions: list[FunctionType],
    dispatchers: dict[Any, Any],
    expected: dict[str, Expectation],
    *,
    wrapped: bool = False,
) -> Iterator[Callable[[Any], None]]:
    def returned() -> Iterator[Mistake]:
        return return_mistakes(expected, dispatchers)

    def check(made: Any) -> None:
        """Raise if a compiled function must not be run."""
        found = [*returned(), *typed_mistakes(dispatchers)]
        interpreter, inexact = foreign_symbols(made.library.get_llvm_str(), wrapped=wrapped)
        if not found and (interpreter or inexact):
            found = [interpreter_mistake(functions[0], interpreter, inexact)]
        if found:
            raise kernel_error(title, list(dict.fromkeys(found)))

    with explained(title, functions, returned):
        yield check
