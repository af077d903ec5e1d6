from __future__ import annotations

from typing import Any, Generic

import numpy as np
import pytest
from typing_extensions import TypeVar

import ludus
from ludus.core import Env, Wrapper
from ludus.core.state import copy_plain
from ludus.core.types import ObsType
from ludus.errors import Error, StateError
from ludus.testing.envs import CounterEnv


def test_seeding_is_gymnasiums():
    seeding = pytest.importorskip("gymnasium").utils.seeding
    for seed in (0, 1, 123, 2**31, 2**70):
        ours, our_seed = ludus.seeding.np_random(seed)
        theirs, their_seed = seeding.np_random(seed)
        assert our_seed == their_seed == seed
        assert ours.random(5).tolist() == theirs.random(5).tolist()


@pytest.mark.parametrize("seed", [-1, 1.0, "1", np.int64(3)])
def test_bad_seeds(seed):
    with pytest.raises(Error, match="Seed must be"):
        CounterEnv().reset(seed=seed)


def test_np_random_is_made_on_demand_and_kept():
    env = CounterEnv()
    generator = env.np_random
    assert env.np_random is generator
    assert env.np_random_seed >= 0
    env.reset()
    assert env.np_random is generator
    env.np_random = np.random.default_rng(3)
    assert env.np_random_seed == -1


def test_base_methods_say_what_is_missing():
    env = Env()
    for call in (lambda: env.step(0), env.render):
        with pytest.raises(NotImplementedError, match="Env does not implement"):
            call()
    assert env.reset() is None
    env.close()


def test_context_manager_closes():
    class Closing(CounterEnv):
        closed = 0

        def close(self):
            self.closed += 1

    with Closing() as env:
        pass
    assert env.closed == 1


def test_state_continues_the_same_trajectory():
    env = CounterEnv(goal=40)
    env.reset(seed=5)
    env.step(1)
    state = env.get_state()
    expected = [env.reset()[0] for _ in range(5)]
    other = CounterEnv(goal=40)
    other.set_state(state)
    assert other.count == state["fields"]["count"]
    assert [other.reset()[0] for _ in range(5)] == expected
    assert other.np_random_seed == 5


def test_state_is_a_copy():
    class Keeps(CounterEnv):
        state_fields = ("memory",)

        def __init__(self):
            super().__init__()
            self.memory = {"a": [np.zeros(2)]}

    env = Keeps()
    state = env.get_state()
    env.memory["a"][0][:] = 9
    assert state["fields"]["memory"]["a"][0].tolist() == [0, 0]
    env.set_state(state)
    env.memory["a"][0][:] = 7
    assert state["fields"]["memory"]["a"][0].tolist() == [0, 0]


def test_state_of_an_undeclared_env():
    class Undeclared(CounterEnv):
        state_fields = None

    with pytest.raises(StateError, match="state_fields"):
        Undeclared().get_state()


@pytest.mark.parametrize(
    "value", [object(), np.array([object()]), {(1, 2): 3}, [{"deep": [lambda: 0]}]]
)
def test_what_is_not_plain_data(value):
    with pytest.raises(StateError, match="state"):
        copy_plain(value)


@pytest.mark.parametrize(
    "state", [None, {}, {"env": "Other"}, {"env": "CounterEnv", "rng": None, "fields": {"x": 1}}]
)
def test_foreign_states_are_refused(state):
    with pytest.raises(StateError):
        CounterEnv().set_state(state)


def test_wrapper_passes_everything_through():
    inner = CounterEnv()
    env = Wrapper(inner)
    assert env.unwrapped is inner
    assert env.action_space is inner.action_space
    assert env.metadata is inner.metadata
    assert (env.spec, env.render_mode) == (None, None)
    assert env.reset(seed=1) == inner.reset(seed=1)
    assert env.np_random is inner.np_random
    assert str(env) == repr(env) == "<Wrapper<CounterEnv instance>>"
    with pytest.raises(AttributeError, match="_np_random"):
        _ = env._np_random


def test_wrapper_attributes():
    env = Wrapper(Wrapper(CounterEnv()))
    assert env.get_wrapper_attr("goal") == 10
    assert env.has_wrapper_attr("goal")
    assert not env.has_wrapper_attr("colour")
    env.set_wrapper_attr("goal", 3)
    assert env.unwrapped.goal == 3
    assert not env.set_wrapper_attr("colour", "red", force=False)
    assert env.set_wrapper_attr("colour", "red")
    assert env.colour == "red"
    with pytest.raises(AttributeError, match="wrapper Wrapper has no attribute 'size'"):
        env.get_wrapper_attr("size")


def test_wrapper_needs_an_env():
    with pytest.raises(TypeError, match="Expected env to be a `ludus.Env`"):
        Wrapper("CartPole-v1")


def test_wrapper_state_must_be_declared_only_if_it_can_matter():
    class Counts(Wrapper):
        def step(self, action):
            self.n += 1
            return super().step(action)

    class Renames(Wrapper):
        def render(self):
            return "x"

    with pytest.raises(StateError, match="Counts overrides step or reset"):
        Counts(CounterEnv()).get_state()
    state = Renames(CounterEnv()).get_state()
    Renames(CounterEnv()).set_state(state)
    with pytest.raises(StateError, match="'Renames' and cannot be set on 'Wrapper'"):
        Wrapper(CounterEnv()).set_state(state)


def test_derived_seeds_are_stable_and_distinct():
    derive = ludus.seeding.derive_seed
    assert derive(7, "action_space") == 3532893512756402511
    paths = [(), ("a",), ("a", "b"), ("ab",), (1,), ("1",), ("a", 1), ("worker", 0), ("worker", 1)]
    seeds = {derive(7, *path) for path in paths}
    assert len(seeds) == len(paths)
    assert all(0 <= seed < 2**63 for seed in seeds)
    with pytest.raises(Error):
        derive(-1, "a")


@pytest.mark.parametrize(
    "kind", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64]
)
def test_generator_state_round_trip(kind):
    generator = np.random.Generator(kind(3))
    generator.random(7)
    generator.integers(5, dtype=np.uint32)
    state = ludus.seeding.generator_state(generator)
    again = ludus.seeding.generator_from_state(state)
    assert again.integers(0, 1000, 20).tolist() == generator.integers(0, 1000, 20).tolist()


@pytest.mark.parametrize("state", [{}, {"bit_generator": "Dice"}, {"bit_generator": "PCG64"}])
def test_bad_generator_state(state):
    with pytest.raises(StateError, match="random generator"):
        ludus.seeding.generator_from_state(state)


def test_what_a_class_does_not_implement_it_says() -> None:
    class Empty(ludus.Env[Any, Any]):
        pass

    class OnlyReset(ludus.Env[Any, Any]):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            return 0, {}

    class EmptyBatch(ludus.vector.VectorEnv[Any, Any, Any]):
        pass

    for call in (Empty().reset, lambda: Empty().step(0), lambda: OnlyReset().step(0)):
        with pytest.raises(NotImplementedError, match=r"(Empty|OnlyReset) does not implement"):
            call()
    assert OnlyReset().reset(seed=1) == (0, {})
    with pytest.raises(NotImplementedError, match="EmptyBatch does not implement reset"):
        EmptyBatch().reset(seed=0)


def test_type_parameters_that_are_not_given_are_any() -> None:
    """As in Gymnasium, also between parameters of a user's own."""
    assert ludus.Env[int] == ludus.Env[int, Any]
    assert ludus.Wrapper[int, str] == ludus.Wrapper[int, str, Any, Any]
    assert ludus.vector.VectorEnv[int] == ludus.vector.VectorEnv[int, Any, Any]
    own = TypeVar("own", default=Any)

    class Pair(ludus.Env[own, int], Generic[own, ObsType]):  # type: ignore[misc]
        """Mixes both."""

    assert Pair[str, int].__args__ == (str, int)
