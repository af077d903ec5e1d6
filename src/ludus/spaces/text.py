"""Text: strings over a set of characters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ludus.spaces import masks
from ludus.spaces.errors import SpaceTypeError, SpaceValueError
from ludus.spaces.space import Space, is_integer

__all__ = ["Text", "alphanumeric"]

alphanumeric: frozenset[str] = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
)
"""The characters of a ``Text`` for which no charset is given."""


class Text(Space[str]):
    """Strings of limited length whose characters all belong to ``charset``.

    Args:
        max_length: Largest length, inclusive.
        min_length: Smallest length, inclusive.
        charset: The characters; a string keeps its order, a set is sorted.
        seed: Seed, or generator, of the samples.

    Raises:
        SpaceTypeError: A length is not an integer.
        SpaceValueError: The lengths are negative or contradict each other, or an element of the
            charset is not a single character.

    Example:
        >>> Text(4, charset="01", seed=1).sample()
        '10'
    """

    def __init__(
        self,
        max_length: int,
        *,
        min_length: int = 1,
        charset: frozenset[str] | set[str] | str = alphanumeric,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        for name, length in (("min_length", min_length), ("max_length", max_length)):
            if not is_integer(length):
                raise SpaceTypeError(
                    f"Text {name} should be an integer, got {length!r} of {type(length)}"
                )
        if min_length < 0:
            raise SpaceValueError(f"Text min_length must be non-negative, got {min_length}")
        if min_length > max_length:
            raise SpaceValueError(
                f"Text min_length must not be above max_length, got min_length={min_length} and "
                f"max_length={max_length}"
            )
        # A set has another order in each process; samples and flattened texts must not.
        if not isinstance(charset, Iterable):
            raise SpaceTypeError(
                f"Text charset should be a string or a set of characters, got {charset!r} of "
                f"{type(charset)}"
            )
        ordered = sorted(charset) if isinstance(charset, (set, frozenset)) else charset
        characters = tuple(dict.fromkeys(ordered))
        wrong = [char for char in characters if len(char) != 1]
        if wrong:
            raise SpaceValueError(
                f"Each element of a Text charset is a single character, got {wrong}"
            )
        self.min_length = int(min_length)
        self.max_length = int(max_length)
        self._char_list = characters
        self._char_set = frozenset(characters)
        self._char_index = {char: np.int32(i) for i, char in enumerate(characters)}
        self._char_str = "".join(sorted(characters))
        super().__init__(dtype=str, seed=seed)

    @property
    def is_np_flattenable(self) -> Literal[True]:
        """Always: a member becomes its characters' indices, padded to ``max_length``."""
        return True

    @property
    def character_set(self) -> frozenset[str]:
        """The characters as a set."""
        return self._char_set

    @property
    def character_list(self) -> tuple[str, ...]:
        """The characters in the order of their indices."""
        return self._char_list

    @property
    def characters(self) -> str:
        """The characters as one sorted string."""
        return self._char_str

    def character_index(self, char: str) -> np.int32:
        """Return the index of a character; ``KeyError`` if it is not in the charset."""
        return self._char_index[char]

    def sample(
        self,
        mask: tuple[int | None, NDArray[np.int8] | None] | None = None,
        probability: tuple[int | None, NDArray[np.float64] | None] | None = None,
    ) -> str:
        """Draw a length, then that many characters, by default uniformly.

        Args:
            mask: A pair: the length or ``None``, and ``None`` or an int8 array with 1 for the
                characters to choose from (in the order of ``character_list``), 0 for the others.
            probability: The same with a float64 array: the chance of each character.

        Raises:
            SpaceTypeError, SpaceValueError: The argument is not of this form, both are given, or no
                characters are allowed for a text of positive length.
        """
        length, weights = self._length_and_weights(*masks.only_one(mask, probability))
        if length is None:
            length = int(self.np_random.integers(self.min_length, self.max_length + 1))
        count = len(self._char_list)
        if weights is None:
            weights = np.ones(count) / count if count else np.zeros(0)
        if not weights.any():
            if self.min_length == 0:
                return ""
            raise SpaceValueError(
                f"The character mask is all zero, so nothing can fill the minimum length of "
                f"{self.min_length}"
            )
        drawn = self.np_random.choice(count, size=length, p=weights)
        return "".join([self._char_list[i] for i in drawn])

    def _length_and_weights(
        self, kind: str, given: Any
    ) -> tuple[int | None, NDArray[np.float64] | None]:
        """Return the length and the probabilities of the characters from a mask argument."""
        if given is None:
            return None, None
        if not isinstance(given, tuple):
            raise SpaceTypeError(
                f"The `{kind}` of a Text should be a tuple of length and array, got {type(given)}"
            )
        if len(given) != 2:
            raise SpaceValueError(
                f"The `{kind}` of a Text should have two parts, length and array, got {len(given)}"
            )
        length, weights = given
        if length is not None:
            self._check_length(length)
        if weights is None:
            return length, None
        weights = masks.check_weights(kind, weights, len(self._char_list))
        is_mask = kind == masks.MASK
        return length, weights / max(np.sum(weights), 1) if is_mask else weights

    def _check_length(self, length: object) -> None:
        if not is_integer(length):
            raise SpaceTypeError(
                f"The length of a Text sample should be an integer, got {length!r}"
            )
        if not self.min_length <= length <= self.max_length:
            raise SpaceValueError(
                f"The length of a Text sample should be between {self.min_length} and "
                f"{self.max_length}, got {length}"
            )

    def contains(self, x: Any) -> bool:
        """Return whether ``x`` is a string of an allowed length and allowed characters."""
        return (
            isinstance(x, str)
            and self.min_length <= len(x) <= self.max_length
            and self._char_set.issuperset(x)
        )

    def __repr__(self) -> str:
        return f"Text({self.min_length}, {self.max_length}, charset={self.characters})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Text)
            and self.min_length == other.min_length
            and self.max_length == other.max_length
            and self.character_set == other.character_set
        )
