"""Kernel environments whose state is an array of floats that users read, edit and assign."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ludus.core.types import State as SavedState
from ludus.kernel import KernelEnv

if TYPE_CHECKING:
    from ludus.kernel import KernelVectorEnv

__all__ = ["ArrayStateEnv", "as_floats"]


def as_floats(value: Any, shape: tuple[int, ...], meaning: str) -> np.ndarray[Any, Any]:
    """Return a state as an array of float64.

    Raises:
        TypeError: It is not made of numbers.
        ValueError: It has another shape, or a string is not a number.
    """
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise type(problem)(
            f"A state is {meaning}, got {value!r}. Assign an array of shape {shape}."
        ) from problem
    if numbers.shape != shape:
        raise ValueError(
            f"A state is {meaning}, an array of shape {shape}, got shape {numbers.shape}: {value!r}"
        )
    return numbers


class ArrayStateEnv(KernelEnv):
    """A kernel environment whose :attr:`state` is an array, one number per field.

    Editing the array in place changes the state, until a step or a reset: from then on
    :attr:`state` is another array. Steps have no overhead unless the state is read or assigned.
    """

    first_dtype: ClassVar[Any] = np.float64
    """The dtype of the array between a reset and the first step."""
    later_dtype: ClassVar[Any] = np.float64
    """The dtype of the array after a step."""
    observation_method: ClassVar[str] = ""
    """A method that subclasses may override to return other observations."""
    _shown: Any = None

    @property
    def state(self) -> Any:
        """The state as an array, or the assigned object; ``None`` before the first reset."""
        if not self._started:
            return None
        if self._shown is None:
            taken = self._storage.lengths[0] > 0
            dtype = self.later_dtype if taken else self.first_dtype
            self._shown = self._row().astype(dtype)
            self._holding = True
            self._watch()
        return self._shown

    @state.setter
    def state(self, value: Any) -> None:
        if value is not None:
            self._row()[:] = self._checked(value)
        self._shown = value
        self._holding = self._started = value is not None
        self._collect_arguments()

    def _observe(self) -> np.ndarray[Any, Any]:
        """Return the observation of the current state, including edits."""
        seen = self.kernel.observation(self.params, self.named_state())
        return np.array(seen, dtype=self.observation_space.dtype)

    def _build(self) -> None:
        super()._build()
        method = getattr(type(self), self.observation_method, None)
        if method is not None and not method.__module__.startswith("ludus."):
            read = getattr(self, self.observation_method)
            self._seen, self._read = ("call", read), read

    @classmethod
    def vector_class(cls) -> type[KernelVectorEnv]:
        """Return the class of a batch, whose state is an array, too."""
        from ludus.envs.classic_control.array_state_vector import ArrayStateVectorEnv, batch_class

        own: Any = cls
        return batch_class(ArrayStateVectorEnv, own)

    def named_state(self) -> Any:
        """Return the state as the kernel's NamedTuple, including edits."""
        self._take_edits()
        return self._storage.state_at(0)

    def _row(self) -> Any:
        return self._storage.floats[: len(self.kernel.state_fields), 0]

    def _checked(self, value: Any) -> np.ndarray[Any, Any]:
        names = [field.name for field in self.kernel.state_fields]
        return as_floats(value, (len(names),), f"the numbers {', '.join(names)}")

    def _take_edits(self) -> None:
        if self._shown is not None:
            self._row()[:] = self._checked(self._shown)

    def _is_watched(self) -> bool:
        return self._shown is not None

    def _watched_advance(self, action: Any) -> Any:
        self._take_edits()
        shown, self._shown = self._shown, None
        self._holding = False
        self._advance = self._unwatched
        try:
            return self._advance(action)
        except Exception:
            # The state is the same still, so is the array.
            self._shown, self._holding = shown, True
            self._watch()
            raise

    def _forget_edits(self) -> None:
        if self._shown is not None:
            self._shown, self._holding = None, False
            self._advance = self._unwatched

    def __getstate__(self) -> dict[str, Any]:
        self._take_edits()
        kept = super().__getstate__()
        return {name: value for name, value in kept.items() if name not in ("_shown", "_holding")}

    def _save_state(self) -> SavedState:
        self._take_edits()
        return super()._save_state()

    def _load_state(self, fields: SavedState) -> None:
        self._forget_edits()
        super()._load_state(fields)
