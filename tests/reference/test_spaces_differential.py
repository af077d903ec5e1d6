"""The same random space in Gymnasium and in Ludus, compared in all they do."""

from __future__ import annotations

import copy
import pickle
from itertools import islice

import gymnasium.spaces
import gymnasium.spaces.utils
import gymnasium.vector.utils
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ludus.spaces
from tests.reference.spaces_recipes import (
    ORDERED,
    arrays,
    assert_same,
    assert_same_outcome,
    assert_same_space,
    build,
    fixed_recipes,
    outcome,
    pair,
    quietly,
    recipes,
    to_ours,
    weights,
)

seeds = st.integers(0, 2**31)

few = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
many = settings(few, max_examples=120)


@many
@given(recipes, seeds)
def test_samples_and_seeds(recipe, seed):
    theirs, ours = pair(recipe)
    assert_same(theirs.seed(seed), ours.seed(seed))
    for _ in range(3):
        assert_same(theirs.sample(), ours.sample())


@few
@given(recipes, seeds)
def test_seeds_returned_seed_again(recipe, seed):
    theirs, ours = pair(recipe)
    parts = theirs.seed(seed)
    if isinstance(parts, dict):
        parts = dict(reversed(parts.items()))
    assert_same_outcome(outcome(theirs.seed, parts), outcome(ours.seed, parts))
    assert_same(theirs.sample(), ours.sample())


@few
@given(recipes, seeds)
def test_constructor_seed(recipe, seed):
    kind, kwargs = recipe
    theirs, ours = (
        build(library, (kind, {**kwargs, "seed": seed}))
        for library in (gymnasium.spaces, ludus.spaces)
    )
    assert_same(theirs.sample(), ours.sample())


@many
@given(recipes, seeds, st.sampled_from(["mask", "probability"]))
def test_masks_and_probabilities(recipe, seed, kind):
    theirs, ours = pair(recipe, seed)
    given_weights = weights(recipe, kind, np.random.default_rng(seed))
    for _ in range(3):
        left = outcome(lambda: theirs.sample(**{kind: given_weights}))
        right = outcome(lambda: ours.sample(**{kind: given_weights}))
        if "need at least one array" in str(left[1]):
            break  # a stacked sequence of length 0, which Gymnasium cannot make
        assert_same_outcome(left, right)


def _neighbours(value):
    """Yield values near a member, itself first: some of the others are members, too."""
    yield value
    yield "text"
    if isinstance(value, (np.ndarray, np.generic)):
        yield from (
            value.tolist(),
            value.astype(np.float64),
            value.astype(np.int64),
            value[..., None],
        )
        yield value.astype(np.int8)
        yield value + np.asarray(1, value.dtype) if value.dtype != bool else ~value
        yield value - np.asarray(100, value.dtype) if value.dtype != bool else value
        yield np.full(np.shape(value), np.nan)
        yield np.asarray(value, dtype=object)
        yield None
    elif isinstance(value, str):
        yield from (value + value, value[1:], value + "~", "")
    elif isinstance(value, dict):
        for key, part in value.items():
            for near in islice(_neighbours(part), 1, 8):
                yield {**value, key: near}
        yield {**value, "extra": 1}
        yield {}
    elif isinstance(value, tuple):
        yield list(value)
        yield value[1:]
        for i, part in enumerate(value[:3]):
            for near in islice(_neighbours(part), 1, 8):
                changed = [*value[:i], near, *value[i + 1 :]]
                yield type(value)(*changed) if hasattr(value, "_fields") else tuple(changed)


@few
@given(recipes, seeds)
def test_contains(recipe, seed):
    theirs, ours = pair(recipe, seed)
    member = theirs.sample()
    with quietly():
        for value in islice(_neighbours(member), 40):
            left, right = outcome(theirs.contains, value), outcome(ours.contains, to_ours(value))
            if left[1] is not None:
                # Gymnasium lets NumPy raise for ragged lists and the like; ours may just say no.
                assert right[0] is False or isinstance(right[1], type(left[1])), (value, left)
            else:
                assert right[1] is None, (value, right[1])
                assert left[0] == right[0], value
                assert type(right[0]) is bool
        assert to_ours(member) in ours


@many
@given(recipes, seeds)
def test_flattening(recipe, seed):
    theirs, ours = pair(recipe, seed)
    sample = theirs.sample()
    assert_same_outcome(
        outcome(gymnasium.spaces.flatdim, theirs), outcome(ludus.spaces.flatdim, ours)
    )
    with quietly():  # Gymnasium warns of a precision that it lowers itself
        flat_space = outcome(gymnasium.spaces.flatten_space, theirs)
        flat = outcome(gymnasium.spaces.flatten, theirs, sample)
        back = outcome(gymnasium.spaces.unflatten, theirs, flat[0])
    our_flat_space = outcome(ludus.spaces.flatten_space, ours)
    our_flat = outcome(ludus.spaces.flatten, ours, to_ours(sample))
    assert_same_outcome(flat, our_flat)
    if flat[1] is None:
        again = ludus.spaces.unflatten(ours, our_flat[0])
        # A text within a vector of floats is beyond Gymnasium.
        assert_same(sample if back[1] is not None else back[0], again)
    if flat_space[1] is None:
        flat_space[0].seed(seed)
        our_flat_space[0].seed(seed)
        assert_same_space(flat_space[0], our_flat_space[0])
    else:
        assert isinstance(our_flat_space[1], type(flat_space[1])), (flat_space, our_flat_space)


@many
@given(recipes, seeds, st.integers(1, 4))
def test_batching(recipe, seed, n):
    theirs, ours = pair(recipe, seed)
    batched = gymnasium.vector.utils.batch_space(theirs, n)
    ours_batched = ludus.spaces.batch_space(ours, n)
    assert_same_space(batched, ours_batched)
    items = batched.sample()
    assert_same_outcome(
        outcome(lambda: list(gymnasium.vector.utils.iterate(batched, items))),
        outcome(lambda: list(ludus.spaces.iterate(ours_batched, to_ours(items)))),
    )
    values = [theirs.sample() for _ in range(n)]
    room = gymnasium.vector.utils.create_empty_array(theirs, n)
    ours_room = ludus.spaces.create_empty_array(ours, n)
    assert_same(room, ours_room)
    joined = gymnasium.vector.utils.concatenate(theirs, values, room)
    ours_joined = ludus.spaces.concatenate(ours, to_ours(values), ours_room)
    assert_same(joined, ours_joined)
    assert_same(room, ours_room)


@few
@given(recipes, seeds)
def test_batch_of_differing_spaces(recipe, seed):
    theirs, ours = pair(recipe, seed)
    assert_same_space(
        gymnasium.vector.utils.batch_differing_spaces([theirs, theirs]),
        ludus.spaces.batch_differing_spaces([ours, ours]),
    )


@few
@given(st.lists(arrays, min_size=2, max_size=3), seeds)
def test_batch_of_unlike_spaces(parts, seed):
    if len({kwargs.get("dtype", "")[:1] for _, kwargs in parts}) > 1:
        parts = parts[:1]  # Gymnasium mixes signed and unsigned integers without regard to range
    pairs = [pair(part, seed) for part in parts]
    left = outcome(gymnasium.vector.utils.batch_differing_spaces, [theirs for theirs, _ in pairs])
    right = outcome(ludus.spaces.batch_differing_spaces, [ours for _, ours in pairs])
    if left[1] is None:
        assert_same_space(left[0], right[0])
    else:
        assert isinstance(right[1], type(left[1]))


@few
@given(recipes, seeds)
def test_jsonable(recipe, seed):
    theirs, ours = pair(recipe, seed)
    samples = [theirs.sample() for _ in range(3)]
    left = outcome(theirs.to_jsonable, samples)
    right = outcome(ours.to_jsonable, to_ours(samples))
    back = outcome(theirs.from_jsonable, left[0]) if left[1] is None else left
    again = outcome(ours.from_jsonable, right[0])
    if back[1] is None:
        assert_same_outcome(left, right)
        assert_same_outcome(back, again)
    elif "Graph" not in repr(ours):  # a composite space within OneOf, beyond Gymnasium
        assert_same(samples, again[0])


@many
@given(recipes, recipes)
def test_repr_and_equality(recipe, other_recipe):
    theirs, ours = pair(recipe)
    other, our_other = pair(other_recipe)
    assert repr(theirs) == repr(ours)
    assert str(theirs) == str(ours)
    assert ours == build(ludus.spaces, recipe)
    assert (theirs == other) == (ours == our_other)
    assert theirs.is_np_flattenable == ours.is_np_flattenable
    assert (theirs.__hash__ is None) == (ours.__hash__ is None)


@few
@given(recipes, recipes)
def test_dtype_shape_equivalence(recipe, other_recipe):
    function = "is_space_dtype_shape_equiv"
    theirs, ours = pair(recipe)
    other, our_other = pair(other_recipe)
    for left, right in (((theirs, theirs), (ours, ours)), ((theirs, other), (ours, our_other))):
        assert_same_outcome(
            outcome(getattr(gymnasium.spaces.utils, function), *left),
            outcome(getattr(ludus.spaces.utils, function), *right),
        )


def _has_oneof_of_composites(recipe):
    parts = recipe[1].get("spaces", [])
    parts = list(parts.values()) if isinstance(parts, dict) else parts
    found = recipe[0] == "OneOf" and any(kind in ("Dict", "Tuple") for kind, _ in parts)
    return found or any(map(_has_oneof_of_composites, parts))


@settings(few, max_examples=30)
@given(fixed_recipes, seeds)
def test_shared_memory(recipe, seed):
    theirs, ours = pair(recipe, seed)
    n = 3
    memory = gymnasium.vector.utils.create_shared_memory(theirs, n)
    our_memory = ludus.spaces.create_shared_memory(ours, n)
    layout = ludus.spaces.Layout.of(ours, n)
    views = layout.views(bytearray(layout.nbytes))
    for index in range(n):
        value = theirs.sample()
        gymnasium.vector.utils.write_to_shared_memory(theirs, index, value, memory)
        ludus.spaces.write_to_shared_memory(ours, index, value, our_memory)
        ludus.spaces.write_to_shared_memory(ours, index, value, views)
    right = ludus.spaces.read_from_shared_memory(ours, our_memory, n)
    if not _has_oneof_of_composites(recipe):  # Gymnasium cannot read them
        assert_same(gymnasium.vector.utils.read_from_shared_memory(theirs, memory, n), right)
    assert_same(right, ludus.spaces.read_from_shared_memory(ours, views, n))


@few
@given(recipes, seeds)
def test_copies_continue_the_stream(recipe, seed):
    theirs, ours = pair(recipe, seed)
    copies = [copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))]
    expected = theirs.sample()
    for other in [ours, *copies]:
        assert other == ours
        assert_same(expected, other.sample())


@pytest.mark.parametrize("edges", [None, ("Discrete", {"n": 3}), ("MultiBinary", {"n": 2})])
@pytest.mark.parametrize("kind", ["mask", "probability"])
def test_graph_with_weights(edges, kind):
    theirs, ours = pair(("Graph", {"node_space": ("Discrete", {"n": 4}), "edge_space": edges}), 5)
    rng = np.random.default_rng(3)
    node = weights(("MultiDiscrete", {"nvec": [4] * 6}), kind, rng)
    edge = None if edges is None else weights(("Discrete", {"n": 3}), kind, rng)
    if edges is not None and edges[0] == "MultiBinary":
        edge = None
    for _ in range(3):
        left, right = (
            space.sample(**{kind: (node, edge)}, num_nodes=6) for space in (theirs, ours)
        )
        assert_same(left, right)


def test_ordered_dict_keeps_its_order():
    theirs, ours = pair(ORDERED, 3)
    assert list(ours) == ["z", "a"]
    assert_same_space(theirs, ours)
