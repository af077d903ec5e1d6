"""The compiled rollout loop with a policy built in."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

__all__ = ["checked_loop"]

Compiling = Callable[[Any, dict[Any, Any]], AbstractContextManager[Callable[[Any], None]]]
"""What explains errors of the compiler, and gives a check of what it has compiled."""


def checked_loop(
    dispatcher: Any, compiling: Compiling, policy: Any, memo: dict[Any, Any]
) -> Callable[..., int]:
    """Return a loop that is compiled and checked before it first runs for given types.

    Args:
        dispatcher: Numba's dispatcher of the loop.
        compiling: Entered around compiling, with the policy and ``memo``.
        policy: The author's function.
        memo: Dispatchers by plain function.

    Raises:
        KernelError: From the loop, if the policy cannot be compiled or must not be run compiled.
    """
    from numba import typeof

    def run(*args: Any) -> int:
        kinds = tuple(map(typeof, args))
        if kinds not in dispatcher.overloads:
            with compiling(policy, memo) as check:
                dispatcher.compile(kinds)
                check(dispatcher.overloads[kinds])
        return dispatcher(*args)  # type: ignore[no-any-return]

    return run
