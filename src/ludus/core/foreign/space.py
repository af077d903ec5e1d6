"""Adapter for spaces of another library for which Ludus has no class."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.errors import CustomSpaceError
from ludus.spaces import Box, Space, Text

__all__ = ["ForeignSpace", "standard_superset"]

_LONGEST_TEXT = 2**14


class ForeignSpace(Space[Any]):
    """A space that delegates membership, samples, seeds and other attributes to the original."""

    def __init__(self, original: Any) -> None:
        """Adapt a space.

        Args:
            original: The space of the other library.

        Raises:
            CustomSpaceError: It has no ``sample``, ``contains`` or ``seed``.
        """
        lacking = [name for name in ("sample", "contains", "seed") if not hasattr(original, name)]
        if lacking:
            raise CustomSpaceError(
                f"Cannot adapt {original!r:.200} of type {type(original)} as a space: it has no "
                f"{lacking[0]}(). Expected a space with sample(), contains() and seed()."
            )
        self.original = original
        shape, dtype = getattr(original, "shape", None), getattr(original, "dtype", None)
        super().__init__(shape, dtype)

    @property
    def np_random(self) -> np.random.Generator:
        """The generator of the original space."""
        return self.original.np_random  # type: ignore[no-any-return]

    @property
    def is_np_flattenable(self) -> bool:
        """Never: the flattening functions are not registered for the original's class."""
        return False

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> Any:
        """Draw a member of the original space; not all spaces take a mask or probabilities."""
        given = {"mask": mask, "probability": probability}
        return self.original.sample(**{k: v for k, v in given.items() if v is not None})

    def seed(self, seed: int | None = None) -> Any:
        """Seed the original space."""
        return self.original.seed(seed)

    def contains(self, x: Any) -> bool:
        """Return whether the original space contains ``x``."""
        return bool(self.original.contains(x))

    def to_jsonable(self, sample_n: Any) -> Any:
        """Convert a batch of members to plain data, as the original space does."""
        return self.original.to_jsonable(sample_n)

    def from_jsonable(self, sample_n: Any) -> list[Any]:
        """Convert plain data to a batch of members, as the original space does."""
        return list(self.original.from_jsonable(sample_n))

    def __getattr__(self, name: str) -> Any:
        # Copying and unpickling access an object that has no attributes yet.
        if name == "original" or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.original, name)

    def __eq__(self, other: object) -> bool:
        return bool(self.original == (other.original if isinstance(other, ForeignSpace) else other))

    def __repr__(self) -> str:
        return repr(self.original)


def standard_superset(space: ForeignSpace) -> Space[Any]:
    """Return a standard space that contains all members: texts as ``Text``, arrays as ``Box``.

    Raises:
        CustomSpaceError: The members are neither texts nor arrays of a fixed shape.
    """
    if space.dtype is not None and space.dtype.kind == "U":
        import string

        return Text(_LONGEST_TEXT, min_length=0, charset=string.printable)
    if space.shape is not None and space.dtype is not None and space.dtype.kind in "biuf":
        if space.dtype.kind == "f":
            return Box(-np.inf, np.inf, space.shape, space.dtype)
        whole = np.iinfo(np.int8 if space.dtype.kind == "b" else space.dtype)
        return Box(whole.min, whole.max, space.shape, whole.dtype)
    raise CustomSpaceError(
        f"{space!r:.200} has no standard space that holds its members: they are neither texts nor "
        "arrays of a fixed shape. Wrap the environment so that its spaces are standard ones."
    )
