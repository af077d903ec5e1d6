"""Base classes of spaces: sets that can be sampled, tested for membership and seeded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

from ludus import seeding
from ludus.spaces.errors import SpaceTypeError, SpaceValueError

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T_co = TypeVar("T_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    T_co = TypeVar("T_co", covariant=True)

__all__ = [
    "ArraySpace",
    "MaskNDArray",
    "Space",
    "as_array",
    "draw_seeds",
    "is_integer",
    "seed_with_parts",
]

MaskNDArray: TypeAlias = npt.NDArray[np.int8]

_LEGACY_NAMES = {"shape": "_shape", "np_random": "_np_random"}


class Space(Generic[T_co]):
    """A set of values: the observations or the actions of an environment.

    A subclass defines ``sample``, ``contains`` and ``is_np_flattenable``, and is registered with
    the functions of :mod:`ludus.spaces` that should support it (``flatten.register(MySpace)``, …).

    Args:
        shape: Shape of the members if they are arrays.
        dtype: Dtype of the members if they are arrays.
        seed: Seed, or a generator to draw the samples from.
    """

    dtype: np.dtype[Any] | None
    _shape: tuple[int, ...] | None
    _np_random: np.random.Generator | None

    def __init__(
        self,
        shape: Sequence[int] | None = None,
        dtype: npt.DTypeLike | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self._shape = None if shape is None else tuple(shape)
        self.dtype = None if dtype is None else np.dtype(dtype)
        self._np_random = None
        if isinstance(seed, np.random.Generator):
            self._np_random = seed
        elif seed is not None:
            self.seed(seed)

    @property
    def np_random(self) -> np.random.Generator:
        """The generator of ``sample``, created on first use because that is slow."""
        if self._np_random is None:
            self.seed()
            if self._np_random is None:
                # Seeding a composite space seeds its parts, but not its own generator.
                self._np_random = seeding.np_random()[0]
        return self._np_random

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Shape of the members, ``None`` if they are not arrays."""
        return self._shape

    @property
    def is_np_flattenable(self) -> bool:
        """Whether :func:`~ludus.spaces.flatten_space` returns one ``Box`` for this space."""
        raise _not_defined(self, "is_np_flattenable")

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> T_co:
        """Draw a member; each space defines the form of ``mask`` and ``probability``.

        Raises:
            SpaceValueError: Mask and probability are both given, or do not fit the space.
        """
        raise _not_defined(self, "sample")

    def seed(self, seed: int | None = None) -> Any:
        """Seed the random generator, and those of the parts; ``None`` takes a random seed.

        Returns:
            The seed that was used; a composite space returns one per generator.
        """
        self._np_random, used = seeding.np_random(seed)
        return used

    def contains(self, x: Any) -> bool:
        """Return whether ``x`` is a member; the same as ``x in space``."""
        raise _not_defined(self, "contains")

    def __contains__(self, x: Any) -> bool:
        return self.contains(x)

    def __setstate__(self, state: Iterable[tuple[str, Any]] | Mapping[str, Any]) -> None:
        # Pickles of old classic Gym versions hold two attributes under their public names.
        for name, value in dict(state).items():
            self.__dict__[_LEGACY_NAMES.get(name, name)] = value

    def to_jsonable(self, sample_n: Iterable[Any]) -> Any:
        """Convert a batch of members to plain data for :mod:`json`."""
        return list(sample_n)

    def from_jsonable(self, sample_n: Any) -> list[Any]:
        """Convert the result of :meth:`to_jsonable` back to a batch of members."""
        return sample_n  # type: ignore[no-any-return]


class ArraySpace(Space[T_co]):
    """Base class of spaces whose members are arrays of a fixed shape and dtype."""

    dtype: np.dtype[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the members."""
        return self._shape  # type: ignore[return-value]

    @property
    def is_np_flattenable(self) -> Literal[True]:
        """Always."""
        return True

    def to_jsonable(self, sample_n: Iterable[Any]) -> list[Any]:
        """Convert a batch of members to nested lists."""
        return [np.asarray(sample).tolist() for sample in sample_n]

    def from_jsonable(self, sample_n: Iterable[Any]) -> list[Any]:
        """Convert nested lists back to members."""
        return [np.asarray(sample, dtype=self.dtype) for sample in sample_n]


def as_array(x: Any) -> Any:
    """Return a list or tuple as an array, ``None`` if it is ragged; anything else unchanged."""
    if not isinstance(x, Sequence):
        return x
    try:
        return np.array(x)
    except ValueError:  # ragged
        return None


def _not_defined(space: Space[Any], name: str) -> NotImplementedError:
    return NotImplementedError(f"{type(space).__name__} does not define `{name}`")


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether ``value`` is a Python or NumPy integer, but not a bool."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def draw_seeds(rng: np.random.Generator, count: int) -> list[int]:
    """Draw the seeds of the ``count`` parts of a composite space."""
    return [int(seed) for seed in rng.integers(np.iinfo(np.int32).max, size=count)]


def seed_with_parts(
    space: Space[Any], seed: object, parts: Sequence[Space[Any]]
) -> tuple[Any, ...]:
    """Seed a composite space that has a generator itself, and its parts.

    Args:
        space: The composite space.
        seed: ``None``, one int from which the seeds of the parts are drawn, or a list or tuple
            with the seed of the space followed by one per part.
        parts: Its parts.

    Raises:
        SpaceTypeError: The seed is of another type.
        SpaceValueError: The number of seeds is wrong.
    """
    seeds: Sequence[Any]
    if seed is None:
        seeds = [None] * (len(parts) + 1)
    elif isinstance(seed, int):
        seeds = [seed, *draw_seeds(seeding.np_random(seed)[0], len(parts))]
    elif isinstance(seed, (list, tuple)):
        if len(seed) != len(parts) + 1:
            raise SpaceValueError(
                f"{type(space).__name__} needs {len(parts) + 1} seeds, one for itself and one for "
                f"each subspace, got {len(seed)}"
            )
        seeds = seed
    else:
        raise SpaceTypeError(
            f"{type(space).__name__} is seeded by None, an int or a tuple of ints, got {seed!r} of "
            f"{type(seed)}"
        )
    own = Space.seed(space, seeds[0])
    return (own, *(part.seed(value) for part, value in zip(parts, seeds[1:], strict=True)))
