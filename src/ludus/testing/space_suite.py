"""The contract of a space, as tests."""

from __future__ import annotations

import json
import pickle
import unittest
import warnings
from copy import copy, deepcopy
from typing import Any

import numpy as np

from ludus.spaces import (
    Space,
    batch_space,
    concatenate,
    create_empty_array,
    flatten,
    flatten_space,
    iterate,
    unflatten,
)
from ludus.testing.require import require, require_member, require_same

__all__ = ["SpaceConformance"]


class SpaceConformance:
    """Tests that a space keeps the contract; derive from it and implement :meth:`make_space`.

    Example:
        >>> class TestMySpace(SpaceConformance):
        ...     def make_space(self):
        ...         return MySpace(3)
    """

    samples: int = 20
    """Members drawn per test."""
    batchable: bool = True
    """Whether members can be stacked with those of a batch."""

    def make_space(self) -> Space[Any]:
        """Return a new space, equal to the one before."""
        raise NotImplementedError(f"{type(self).__name__} must implement make_space()")

    def test_samples_are_members(self) -> None:
        """What is sampled lies in the space."""
        space = self.make_space()
        for sample in self._draw(space):
            require_member(sample, space, "a sample of the space")

    def test_foreign_objects_are_not_members(self) -> None:
        """Membership of anything can be asked, and an unknown object is outside."""
        space = self.make_space()
        for thing in (object(), None, object):
            with warnings.catch_warnings():
                # A space may say that it had to convert what it was asked about.
                warnings.simplefilter("ignore")
                member = thing in space
            require(not member, f"{thing!r} is taken for a member of {space}")

    def test_seed_decides_the_samples(self) -> None:
        """Equal seeds give equal samples, in this space and in its equal."""
        space = self.make_space()
        first = self._draw(space, 7)
        require_same(first, self._draw(space, 7), "samples after seeding again")
        require_same(first, self._draw(self.make_space(), 7), "samples of an equal space")

    def test_equality(self) -> None:
        """A space equals its like, and nothing else."""
        space = self.make_space()
        require(space == self.make_space(), f"{space} is not equal to one built alike")
        for other in (object(), None, "space"):
            require(space != other, f"{space} equals {other!r}")

    def test_copies_are_equal_and_independent(self) -> None:
        """A deep copy continues the same samples and shares no generator."""
        space = self.make_space()
        space.seed(3)
        require(copy(space) == space, "copy.copy() is not equal")
        twin = deepcopy(space)
        require(twin == space, "copy.deepcopy() is not equal")
        require_same(self._draw(space), self._draw(twin), "samples of a deep copy")

    def test_pickle(self) -> None:
        """A pickled space is equal and continues the same samples."""
        space = self.make_space()
        space.seed(5)
        space.sample()
        twin = pickle.loads(pickle.dumps(space))  # noqa: S301 - its own data
        require(twin == space, f"unpickled {twin} is not equal to {space}")
        require_same(self._draw(space), self._draw(twin), "samples of the unpickled space")

    def test_json_round_trip(self) -> None:
        """Samples survive ``to_jsonable``, JSON text and ``from_jsonable``."""
        space = self.make_space()
        samples = self._draw(space, 11)
        text = json.dumps(space.to_jsonable(samples))
        back = space.from_jsonable(json.loads(text))
        require(len(back) == len(samples), f"{len(samples)} samples became {len(back)}")
        for sample, other in zip(samples, back, strict=True):
            require_member(other, space, "a sample after JSON")
            require_same(_plain(sample), _plain(other), "sample after JSON")

    def test_batch_round_trip(self) -> None:
        """Stacked samples lie in the batched space and come apart as they were."""
        space = self.make_space()
        if not self.batchable:
            raise unittest.SkipTest(f"{space} cannot be batched")
        samples = self._draw(space, 13)
        batched = batch_space(space, self.samples)
        stacked = concatenate(space, samples, create_empty_array(space, self.samples))
        require_member(stacked, batched, "stacked samples")
        require_member(batched.sample(), batched, "a sample of the batched space")
        parts = list(iterate(batched, stacked))
        require_same(_plain(samples), _plain(parts), "samples after stacking")

    def test_flatten_round_trip(self) -> None:
        """A flattened sample lies in the flattened space and comes back as it was."""
        space = self.make_space()
        try:
            flat_space = flatten_space(space)
        except (NotImplementedError, ValueError) as problem:
            raise unittest.SkipTest(str(problem)) from problem
        for sample in self._draw(space, 17):
            flat = flatten(space, sample)
            require_member(flat, flat_space, "a flattened sample")
            require_same(_plain(sample), _plain(unflatten(space, flat)), "sample after flattening")

    def test_shape_and_dtype(self) -> None:
        """Where the space declares shape and dtype, its samples have them."""
        space = self.make_space()
        if space.shape is None or space.dtype is None:
            raise unittest.SkipTest(f"{space} declares no shape and dtype")
        for sample in self._draw(space):
            array = np.asarray(sample)
            require(array.shape == space.shape, f"shape {array.shape}, declared {space.shape}")
            require(array.dtype == space.dtype, f"dtype {array.dtype}, declared {space.dtype}")

    def _draw(self, space: Space[Any], seed: int | None = None) -> list[Any]:
        if seed is not None:
            space.seed(seed)
        return [space.sample() for _ in range(self.samples)]


def _plain(value: Any) -> Any:
    # What a container or scalar is called may change on the way, its numbers may not.
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
