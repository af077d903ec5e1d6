"""Batches whose state is an array and whose constants are attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np

from ludus.core.types import State as SavedState
from ludus.envs.classic_control.array_state import as_floats
from ludus.envs.classic_control.parameter import KernelParameter, Parameter
from ludus.kernel import KernelVectorEnv

__all__ = ["ArrayStateVectorEnv", "batch_class", "share_parameters"]


class ArrayStateVectorEnv(KernelVectorEnv):
    """A batch of environments whose states are arrays.

    Constants such as ``gravity`` can be read and set, for the whole batch.
    """

    _shown: Any = None

    @property
    def state(self) -> Any:
        """The states, shape ``(numbers, num_envs)``; ``None`` before the first reset.

        Editing the array in place takes effect until the next step or reset; so does assigning.
        """
        if not self._started.all():
            return None
        if self._shown is None:
            self._shown = self._rows().copy()
            self._running = False
        return self._shown

    @state.setter
    def state(self, value: Any) -> None:
        if value is not None:
            self._rows()[...] = self._checked(value)
        self._shown = value
        self._started[...] = value is not None
        self._running = False

    def _rows(self) -> Any:
        return self._storage.floats[: len(self.env.kernel.state_fields), : self.num_envs]

    def _checked(self, value: Any) -> np.ndarray[Any, Any]:
        names = [field.name for field in self.env.kernel.state_fields]
        shape = (len(names), self.num_envs)
        return as_floats(value, shape, f"one row for each of {', '.join(names)}")

    def _take_edits(self) -> None:
        if self._shown is not None:
            self._rows()[...] = self._checked(self._shown)

    def _check_running(self) -> None:
        # The first call of every step after the state was read or assigned.
        self._take_edits()
        super()._check_running()
        self._shown = None

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Start new episodes; see :meth:`KernelVectorEnv.reset`."""
        self._take_edits()
        self._shown = None
        return super().reset(seed=seed, options=options)

    def visit(
        self, work: Callable[[Any, int], Any], indices: Iterable[int] | None = None
    ) -> list[Any]:
        """Call a function with an environment object in the state of each environment in turn."""
        self._take_edits()
        self._shown = None
        return super().visit(work, indices)

    def render(self) -> tuple[Any, ...] | None:
        """Return the frame of each environment."""
        self._take_edits()
        return super().render()

    def get_state(self) -> SavedState:
        """Return every environment's state and random stream as plain data."""
        self._take_edits()
        return super().get_state()

    def set_state(self, state: SavedState) -> None:
        """Restore the state that :meth:`get_state` returned."""
        super().set_state(state)
        self._shown = None


class _Shared:
    """A parameter of a batch, which is read from and set on its environment object.

    There is one for each parameter, because ``__getattr__`` would slow down every attribute access.
    """

    def __init__(self, parameter: Parameter) -> None:
        self._parameter = parameter

    def __get__(self, batch: Any, owner: type | None = None) -> Any:
        return (
            self._parameter.default if batch is None else getattr(batch.env, self._parameter.name)
        )

    def __set__(self, batch: Any, value: Any) -> None:
        name = self._parameter.name
        if not isinstance(self._parameter, KernelParameter):
            setattr(batch.env, name, value)
            batch._storage.set_params(batch.env.params)
        elif value != getattr(batch.env, name):
            raise AttributeError(
                f"{name} of a batch cannot be changed: it decides which code the batch runs. Build "
                "single environments with vectorization_mode='sync' and set it on each of them."
            )


def share_parameters(batch: type[Any], env: type[Any]) -> None:
    """Add the parameters of a class of environments to a class of batches."""
    declared: dict[str, Any] = {}
    for kind in reversed(env.__mro__):
        declared |= vars(kind)
    for name, value in declared.items():
        if isinstance(value, Parameter) and not hasattr(batch, name):
            setattr(batch, name, _Shared(value))


@cache
def batch_class(batch: type[Any], env: Any) -> type[Any]:
    """Return a subclass of a class of batches for a class of environments."""
    about = {name: getattr(batch, name) for name in ("__doc__", "__module__", "__qualname__")}
    own = type(batch.__name__, (batch,), about)
    share_parameters(own, env)
    return own
