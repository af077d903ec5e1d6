"""Dict: dictionaries with a space for each key."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, KeysView, Mapping, Sequence
from typing import Any, Generic

import numpy as np

from ludus.spaces import masks
from ludus.spaces.errors import SpaceTypeError, SpaceValueError, conversion_hint
from ludus.spaces.space import Space, T_co, draw_seeds

__all__ = ["Dict"]


class Dict(Space[dict[str, Any]], Mapping[str, Space[T_co]], Generic[T_co]):
    """Dictionaries whose value of ``key`` is in ``spaces[key]``; itself a mapping of these spaces.

    ``in`` tests for membership of a sample, not of a key.

    Args:
        spaces: The spaces by key: a mapping, or a sequence of pairs.
        seed: Seed from which those of the parts are drawn, a dictionary of seeds, or a generator.
        sort_keys: Whether the keys of a mapping are sorted, if they can be; an ``OrderedDict`` and
            a sequence keep their order in any case.
        **spaces_kwargs: Further spaces.

    Raises:
        SpaceTypeError: ``spaces`` is neither mapping nor sequence, or contains other objects than
            spaces.
        SpaceValueError: A key is given twice.

    Example:
        >>> Dict({"position": Box(-1, 1, shape=(2,)), "color": Discrete(3)}, seed=42).sample()
        {'color': np.int64(0), 'position': array([-0.3991573 ,  0.21649833], dtype=float32)}
    """

    spaces: dict[str, Space[T_co]]
    sort_keys: bool

    def __init__(
        self,
        spaces: Mapping[str, Space[Any]] | Sequence[tuple[str, Space[Any]]] | None = None,
        seed: dict[str, Any] | int | np.random.Generator | None = None,
        *,
        sort_keys: bool = True,
        **spaces_kwargs: Space[Any],
    ) -> None:
        self.sort_keys = sort_keys
        self.spaces = _as_dict(spaces, sort_keys)
        for key, space in spaces_kwargs.items():
            if key in self.spaces:
                raise SpaceValueError(f"Dict got the key {key!r} twice: in `spaces` and as keyword")
            self.spaces[key] = space
        for key, space in self.spaces.items():
            if not isinstance(space, Space):
                raise SpaceTypeError(
                    f"Dict holds spaces only, but key={key!r} is not an instance of Space: got "
                    f"{space!r} of {type(space)}{conversion_hint(space)}"
                )
        super().__init__(None, None, seed)  # type: ignore[arg-type]

    @property
    def is_np_flattenable(self) -> bool:
        """Whether all parts are."""
        return all(space.is_np_flattenable for space in self.spaces.values())

    def seed(self, seed: Any = None) -> dict[str, Any]:
        """Seed the parts.

        Args:
            seed: ``None`` for random seeds, an int to draw the seeds of the parts from, or a
                dictionary with the seed of each part.

        Returns:
            The result of seeding each part, by key.

        Raises:
            SpaceTypeError: The seed is of another type.
            SpaceValueError: The keys of the seeds are not those of the space.
        """
        if seed is None:
            seed = dict.fromkeys(self.spaces)
        elif isinstance(seed, int):
            super().seed(seed)
            seeds = draw_seeds(self.np_random, len(self.spaces))
            seed = dict(zip(self.spaces, seeds, strict=True))
        elif not isinstance(seed, dict):
            raise SpaceTypeError(
                f"Dict is seeded by a dict, int or None, got {seed!r} of {type(seed)}"
            )
        elif seed.keys() != self.spaces.keys():
            raise SpaceValueError(
                f"Dict needs one seed per key: seed keys {list(seed)}, space keys "
                f"{list(self.spaces)}"
            )
        return {key: self.spaces[key].seed(part) for key, part in seed.items()}

    def sample(
        self,
        mask: dict[str, Any] | None = None,
        probability: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Draw each part independently.

        Args:
            mask: A dictionary with the mask, or ``None``, for each key.
            probability: A dictionary with the probability, or ``None``, for each key.

        Raises:
            SpaceTypeError, SpaceValueError: The argument is not of this form, or both are given.
        """
        if mask is None and probability is None:
            return {key: space.sample() for key, space in self.spaces.items()}
        kind, given = masks.only_one(mask, probability)
        if not isinstance(given, dict):
            raise SpaceTypeError(f"The {kind} of a Dict should be a dict, got {type(given)}")
        if given.keys() != self.spaces.keys():
            raise SpaceValueError(
                f"The {kind} of a Dict needs the keys of the space: {kind} keys {list(given)}, "
                f"space keys {list(self.spaces)}"
            )
        return {key: space.sample(**{kind: given[key]}) for key, space in self.spaces.items()}

    def contains(self, x: Any) -> bool:
        """Return whether ``x`` is a dict with exactly these keys and values in their spaces."""
        return (
            isinstance(x, dict)
            and x.keys() == self.spaces.keys()
            and all(space.contains(x[key]) for key, space in self.spaces.items())
        )

    def to_jsonable(self, sample_n: Iterable[dict[str, Any]]) -> dict[str, Any]:
        """Convert a batch of members to one list per key."""
        samples = list(sample_n)
        return {
            key: space.to_jsonable([sample[key] for sample in samples])
            for key, space in self.spaces.items()
        }

    def from_jsonable(self, sample_n: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Convert one list per key back to members."""
        columns = [space.from_jsonable(sample_n[key]) for key, space in self.spaces.items()]
        return [dict(zip(self.spaces, row, strict=True)) for row in zip(*columns, strict=True)]

    def keys(self) -> KeysView[str]:
        """Return the keys."""
        return KeysView(self.spaces)

    def __getitem__(self, key: str) -> Space[Any]:
        return self.spaces[key]

    def __setitem__(self, key: str, value: Space[Any]) -> None:
        if not isinstance(value, Space):
            raise SpaceTypeError(
                f"Dict holds spaces only, cannot set {key!r} to {value!r} of {type(value)}"
                f"{conversion_hint(value)}"
            )
        self.spaces[key] = value

    def __iter__(self) -> Iterator[str]:
        return iter(self.spaces)

    def __len__(self) -> int:
        return len(self.spaces)

    def __repr__(self) -> str:
        return f"Dict({', '.join(f'{key!r}: {space}' for key, space in self.spaces.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dict) and self.spaces == other.spaces


def _as_dict(spaces: object, sort_keys: bool) -> dict[str, Any]:
    """Return the spaces as a dictionary in the order of samples."""
    if spaces is None:
        return {}
    if isinstance(spaces, Mapping):
        if sort_keys and not isinstance(spaces, OrderedDict):
            try:
                return {key: spaces[key] for key in sorted(spaces)}
            except TypeError:  # keys that have no order, such as a mix of int and str
                pass
        return dict(spaces.items())
    if isinstance(spaces, Sequence):
        return dict(spaces)
    raise SpaceTypeError(
        "Dict takes its spaces as a mapping or a sequence of pairs, got "
        f"{spaces!r} of {type(spaces)}"
    )
