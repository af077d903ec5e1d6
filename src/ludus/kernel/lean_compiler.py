"""Numba without the work that nobody needs here.

Numba makes every function ready to be called by itself: optimises it with all that it calls, and
turns it into machine code. The helpers of a kernel are only ever called from its driver, which is
optimised as a whole once more. It also asks itself the same question, what a function returns for
some types, nine times out of ten. What is left out here is found by its name in numba's own
classes; should a version have other names, compiling takes longer and yields the same.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

__all__ = ["lean_compiler"]


@contextmanager
def lean_compiler(is_helper: Callable[[str], bool]) -> Iterator[None]:
    """Compile inside; other threads that compile wait for the end.

    Args:
        is_helper: Tells by a function's name whether it is only called by others.
    """
    from unittest.mock import patch

    from numba.core.codegen import CPUCodeLibrary
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.cpu import CPUContext
    from numba.core.types.functions import BaseFunction

    def optimise(library: Any) -> None:
        if not is_helper(library.name):
            optimise_fully(library)

    def make_code(library: Any) -> None:
        if not is_helper(library.name):
            make_all_code(library)
            return
        library._finalize_dynamic_globals()
        library._finalized = True

    def make_executable(context: Any, library: Any, description: Any, environment: Any) -> Any:
        if is_helper(description.qualname):
            # Stands for the function in numba's books, so each gets another.
            return [].append
        return make_any(context, library, description, environment)

    optimise_fully: Any = getattr(CPUCodeLibrary, "_optimize_final_module", None)
    make_all_code: Any = getattr(CPUCodeLibrary, "_finalize_final_module", None)
    make_any: Any = getattr(CPUContext, "get_executable", None)
    leaner = {
        (CPUCodeLibrary, "_optimize_final_module"): optimise,
        (CPUCodeLibrary, "_finalize_final_module"): make_code,
        (CPUContext, "get_executable"): make_executable,
        (BaseFunction, "get_call_type"): _remembering(getattr(BaseFunction, "get_call_type", None)),
    }
    known = all(hasattr(owner, name) for owner, name in leaner)
    known = known and hasattr(CPUCodeLibrary, "_finalize_dynamic_globals")
    known = known and "_impl_keys" in BaseFunction.__init__.__code__.co_names
    with ExitStack() as stack:
        stack.enter_context(global_compiler_lock)
        for (owner, name), method in leaner.items() if known else ():
            stack.enter_context(patch.object(owner, name, method))
        # A compiler makes millions of objects that live as long as it runs.
        if gc.isenabled():
            gc.disable()
            stack.callback(gc.enable)
        yield


def _remembering(resolve: Any) -> Any:
    """Return numba's way to find a call's signature, asked once for each function and types."""
    answers: dict[Any, tuple[Any, Any]] = {}

    def get_call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
        question = function, tuple(args), tuple(sorted(kws.items()))
        if question not in answers:
            signature = resolve(function, context, args, kws)
            answers[question] = signature, function._impl_keys[signature.args]
        signature, implementation = answers[question]
        function._impl_keys[signature.args] = implementation
        return signature

    return get_call_type
