"""Gymnasium, imported on demand, and translation of its exceptions."""

from __future__ import annotations

from types import ModuleType

from ludus import errors
from ludus.distribution import pip_install
from ludus.errors import DependencyNotInstalled
from ludus.optional import missing

__all__ = ["TO_GYMNASIUM", "TO_LUDUS", "ErrorTranslation", "gymnasium"]

OLDEST = (1, 1)
"""The first version with ``AutoresetMode`` and ``set_wrapper_attr(force=...)``."""

try:
    import gymnasium
    import gymnasium.vector
except ImportError as problem:
    purpose = "Converting to and from Gymnasium"
    raise missing("Gymnasium", extra="gymnasium", purpose=purpose) from problem

if tuple(int(part) for part in gymnasium.__version__.split(".")[:2]) < OLDEST:
    raise DependencyNotInstalled(
        f"Gymnasium {gymnasium.__version__} is installed, but {OLDEST[0]}.{OLDEST[1]} or later is "
        f"needed; run `{pip_install('gymnasium', upgrade=True)}`"
    )


_NOT_BELOW_ERROR = (
    "AlreadyPendingCallError",
    "ClosedEnvironmentError",
    "CustomSpaceError",
    "NoAsyncCallError",
)


class ErrorTranslation:
    """Translation from one module of exceptions to another.

    Attributes:
        caught: The exception classes that are translated.
    """

    def __init__(self, source: ModuleType, target: ModuleType) -> None:
        self.caught = (source.Error, *(getattr(source, name) for name in _NOT_BELOW_ERROR))
        self._target = target

    def translated(self, problem: Exception) -> Exception:
        """Return the exception as the target's nearest class, or unchanged if it has none."""
        for cls in type(problem).__mro__:
            twin = getattr(self._target, cls.__name__, None)
            if twin is not None:
                # The errors about pending calls carry the call's name as a second argument.
                name = getattr(problem, "name", None)
                extra = (name,) if cls.__name__.endswith("CallError") else ()
                return twin(str(problem), *extra)  # type: ignore[no-any-return]
        return problem


TO_GYMNASIUM = ErrorTranslation(errors, gymnasium.error)
TO_LUDUS = ErrorTranslation(gymnasium.error, errors)
