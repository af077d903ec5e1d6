"""Exceptions, raised again as the other library's class of the same name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

from ludus import errors
from ludus.interop.gymnasium.library import gymnasium

__all__ = ["raises_gymnasium_errors", "raises_ludus_errors"]

F = TypeVar("F", bound=Callable[..., Any])

_OUTSIDE_THE_TREE = (
    "AlreadyPendingCallError",
    "ClosedEnvironmentError",
    "CustomSpaceError",
    "NoAsyncCallError",
)


def _translator(source: ModuleType, target: ModuleType) -> Callable[[F], F]:
    caught = (source.Error, *(getattr(source, name) for name in _OUTSIDE_THE_TREE))

    def translated(problem: Exception) -> Exception:
        for cls in type(problem).__mro__:
            twin = getattr(target, cls.__name__, None)
            if twin is not None:
                # The errors about pending calls carry the call's name as a second argument.
                name = getattr(problem, "name", None)
                extra = (name,) if cls.__name__.endswith("CallError") else ()
                return twin(str(problem), *extra)  # type: ignore[no-any-return]
        return problem

    def decorate(method: F) -> F:
        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return method(*args, **kwargs)
            except caught as problem:
                raise translated(problem) from problem

        return call  # type: ignore[return-value]

    return decorate


raises_gymnasium_errors = _translator(errors, gymnasium.error)
"""Decorator: Ludus's exceptions leave the method as Gymnasium's."""

raises_ludus_errors = _translator(gymnasium.error, errors)
"""Decorator: Gymnasium's exceptions leave the method as Ludus's."""
