"""The compiled rollout loop with a policy."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

__all__ = ["checked_loop"]

Compiling = Callable[[Any, dict[Any, Any]], AbstractContextManager[Callable[[Any], None]]]
"""Context that translates errors of the compiler, and yields a check of the compiled code."""


def checked_loop(
    dispatcher: Any, compiling: Compiling, policy: Any, memo: dict[Any, Any]
) -> Callable[..., int]:
    """Return a loop that is compiled and checked before it first runs for given types.

    Args:
        dispatcher: Numba's dispatcher of the loop.
        compiling: Context for compiling; its arguments are the policy and ``memo``.
        policy: The user's function.
        memo: Dispatchers by plain function.

    Raises:
        KernelError: From the loop, if the policy cannot be compiled, or not run compiled.
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
