"""Helpers for starting worker processes."""

from __future__ import annotations

import contextlib
import os
import pickle
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

__all__ = ["CloudpickleWrapper", "clear_mpi_env_vars"]

T = TypeVar("T")


class CloudpickleWrapper(Generic[T]):
    """Pickles a callable with cloudpickle, which supports lambdas and closures."""

    def __init__(self, fn: Callable[[], T]) -> None:
        self.fn = fn

    def __getstate__(self) -> bytes:
        import cloudpickle

        return cloudpickle.dumps(self.fn)  # type: ignore[no-any-return]

    def __setstate__(self, state: bytes) -> None:
        # The bytes come from __getstate__ in the parent process.
        self.fn = pickle.loads(state)  # noqa: S301

    def __call__(self) -> T:
        """Call the wrapped function."""
        return self.fn()


@contextlib.contextmanager
def clear_mpi_env_vars() -> Iterator[None]:
    """Remove MPI's environment variables inside the block.

    Child processes that inherit them act as if started by MPI, and hang when they import it.
    """
    hidden: dict[str, Any] = {
        name: os.environ.pop(name)
        for name in list(os.environ)
        if name.startswith(("OMPI_", "PMI_"))
    }
    try:
        yield
    finally:
        os.environ.update(hidden)
