"""What ``reset`` and ``step`` return has the types of Gymnasium's environments, down to infos."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

import ludus
from tests.sampling import sampled

OTHERS = ("ALE/", "GymV21", "GymV26", "phys2d/", "tabular/")
"""Ids with tests of their own, or that adapt other people's environments."""
STEPS = 250


def makes(name: str) -> bool:
    try:
        gymnasium.make(name).close()
    except ImportError:  # moved to other packages
        return False
    return True


IDS = sorted(
    name for name in gymnasium.registry if name in ludus.registry and not name.startswith(OTHERS)
)


def folder_of(name: str) -> str:
    """Return the package that an environment of Gymnasium comes from."""
    return str(gymnasium.registry[name].entry_point).rpartition(".")[0]


def described(value):
    """Return the types in a value, as text."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        return f"objects {[described(part) for part in value]}"
    if isinstance(value, np.ndarray):
        return f"array{value.shape} {value.dtype} {value.flags.writeable}"
    if isinstance(value, dict):
        # The probability of a start is the integer 1 in some of Gymnasium's games, and a float in
        # the others. Integers would turn a batch's other probabilities into zeros.
        plain = {
            key: 1.0 if key == "prob" and type(part) is int else part for key, part in value.items()
        }
        return repr({key: described(part) for key, part in sorted(plain.items())})
    if isinstance(value, tuple | list):
        return f"{type(value).__name__} {[described(part) for part in value]}"
    return f"{type(value).__module__} {type(value).__name__}"


def types_of(envs, steps=STEPS):
    """Return every combination of types that an environment returns."""
    found = {described(envs.reset(seed=0))}
    envs.action_space.seed(0)
    for _ in range(steps):
        result = envs.step(envs.action_space.sample())
        found.add(described(result))
        if isinstance(result[2], bool) and (result[2] or result[3]):
            found.add(described(envs.reset()))
    envs.close()
    return found


@pytest.mark.parametrize("name", sampled(IDS, 60, by=folder_of))
@pytest.mark.filterwarnings("ignore")
def test_types_are_those_of_gymnasium(name):
    if not makes(name):
        pytest.skip("Gymnasium has the id, and no environment for it")
    steps = 30 if name.startswith("CarRacing") else STEPS
    assert types_of(ludus.make(name), steps) == types_of(gymnasium.make(name), steps)


# In Gymnasium the probabilities of FrozenLake are integers or not by whose episode is first.
@pytest.mark.parametrize("mode", ["sync", "vector_entry_point"])
@pytest.mark.parametrize(
    "name", ["CartPole-v1", "Pendulum-v1", "Taxi-v4", "Blackjack-v1", "LunarLander-v3"]
)
@pytest.mark.filterwarnings("ignore")
def test_types_of_batches_are_those_of_gymnasium(name, mode):
    reference = gymnasium.make_vec(name, 3, vectorization_mode="sync")
    assert types_of(ludus.make_vec(name, 3, vectorization_mode=mode)) == types_of(reference)


@pytest.mark.parametrize("name", ["CartPole-v1", "Blackjack-v1", "Taxi-v4"])
@pytest.mark.filterwarnings("ignore")
def test_types_of_last_observations_are_those_of_gymnasium(name):
    def make(library):
        options = {"autoreset_mode": library.vector.AutoresetMode.SAME_STEP}
        mode = None if library is ludus else "sync"
        return library.make_vec(name, 1, vectorization_mode=mode, vector_kwargs=options)

    assert types_of(make(ludus)) == types_of(make(gymnasium))
