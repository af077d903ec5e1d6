from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from ludus.classic.error import Error
from ludus.classic.from_ludus import ClassicGenerator, classic_generator
from ludus.classic.utils.seeding import create_seed, hash_seed, np_random, seed_words


@pytest.mark.parametrize(
    ("seed", "hashed", "words", "first"),
    [
        (0, 1331072711323073585, [547404849, 309914516], 0.05436006),
        (123, 5563394613165267260, [2936641852, 1295328748], 0.70787616),
    ],
)
def test_published_values(seed: int, hashed: int, words: list[int], first: float) -> None:
    assert hash_seed(seed) == hashed
    assert seed_words(seed) == words
    rng, used = np_random(seed)
    assert used == seed
    assert isinstance(rng, np.random.RandomState)
    assert rng.rand() == pytest.approx(first, abs=1e-8)


def test_the_seed_is_cut_to_eight_bytes() -> None:
    assert np_random(2**64 + 5)[1] == 5
    assert np_random(2**64 + 5)[0].rand() == np_random(5)[0].rand()


def test_no_seed_takes_one_from_the_system() -> None:
    first, second = np_random()[1], np_random()[1]
    assert first != second
    assert 0 <= first < 2**64
    assert hash_seed() != hash_seed()


@pytest.mark.parametrize("seed", [-1, "text", 1.5, np.int64(3)])
def test_other_seeds_are_refused(seed: Any) -> None:
    with pytest.raises(Error, match="non-negative integer"):
        np_random(seed)
    with pytest.raises(Error, match="non-negative integer"):
        classic_generator(seed)


def test_create_seed_from_text() -> None:
    assert create_seed("abc") == create_seed("abc") != create_seed("abd")
    with pytest.raises(Error, match="Invalid type"):
        create_seed(1.5)  # type: ignore[arg-type]


CALLS: list[tuple[str, tuple[Any, ...], str, tuple[Any, ...]]] = [
    ("random", (3,), "random_sample", (3,)),
    ("uniform", (-0.05, 0.05, 4), "uniform", (-0.05, 0.05, 4)),
    ("integers", (10,), "randint", (10,)),
    ("integers", (3, 9, 5), "randint", (3, 9, 5)),
    ("integers", (0, 5, 4, np.int64, True), "randint", (0, 6, 4)),
    ("normal", (0.0, 2.0, 3), "normal", (0.0, 2.0, 3)),
    ("standard_normal", (3,), "standard_normal", (3,)),
    ("exponential", (1.5,), "exponential", (1.5,)),
    ("choice", ([4, 5, 6], 4), "choice", ([4, 5, 6], 4)),
    ("permutation", (6,), "permutation", (6,)),
    ("rand", (2, 2), "rand", (2, 2)),
    ("randint", (7,), "randint", (7,)),
    ("randn", (2,), "randn", (2,)),
]


@pytest.mark.parametrize(("name", "arguments", "old_name", "old_arguments"), CALLS)
def test_the_generator_draws_what_the_random_state_drew(
    name: str, arguments: Any, old_name: str, old_arguments: Any
) -> None:
    generator, used = classic_generator(42)
    state, _ = np_random(42)
    assert used == 42
    for _ in range(3):
        np.testing.assert_array_equal(
            getattr(generator, name)(*arguments), getattr(state, old_name)(*old_arguments)
        )
    assert generator.random() == state.rand()


def test_the_generator_is_a_generator() -> None:
    generator, _ = classic_generator(1)
    assert isinstance(generator, np.random.Generator)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = generator.nonsense


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda rng: pickle.loads(pickle.dumps(rng))])
def test_copies_continue_even_with_a_normal_number_in_reserve(clone: Any) -> None:
    generator, _ = classic_generator(3)
    generator.normal()
    twin = clone(generator)
    assert isinstance(twin, ClassicGenerator)
    assert twin is not generator
    for _ in range(3):
        assert twin.normal() == generator.normal()
    assert twin.integers(1000) == generator.integers(1000)
