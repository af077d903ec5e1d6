"""Which vector implementation ``make_vec`` takes by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ludus
from ludus.envs.classic_control.cartpole import CartPoleEnv
from ludus.envs.classic_control.pendulum import PendulumEnv
from ludus.errors import Error, InvalidArgument, KernelError
from ludus.kernel import KernelVectorEnv
from ludus.vector import AutoresetMode, SyncVectorEnv


class Heavier(CartPoleEnv):
    """The same steps with another constant."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.gravity = 20.0


class Shaped(CartPoleEnv):
    """Steps in Python, which no compiled batch would call."""

    def step(self, action: Any) -> Any:
        observation, reward, *rest = super().step(action)
        return (observation, 2.0 * float(reward), *rest)


class StartsAnew(PendulumEnv):
    """A reset in Python."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=7)


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    before = dict(ludus.registry)
    ludus.register("tests/Heavier-v0", Heavier, max_episode_steps=6)
    ludus.register("tests/Named-v0", f"{__name__}:Heavier", max_episode_steps=6)
    ludus.register("tests/Shaped-v0", Shaped)
    ludus.register("tests/StartsAnew-v0", StartsAnew)
    ludus.register("tests/Function-v0", lambda: Heavier())
    yield
    ludus.registry.clear()
    ludus.registry.update(before)


@pytest.mark.parametrize("env_id", ["tests/Heavier-v0", "tests/Named-v0"])
def test_a_registered_kernel_environment_has_its_compiled_batch(env_id: str) -> None:
    batch = ludus.make_vec(env_id, 3)
    assert isinstance(batch, KernelVectorEnv)
    singles = ludus.make_vec(env_id, 3, vectorization_mode="sync")
    np.testing.assert_array_equal(batch.reset(seed=2)[0], singles.reset(seed=2)[0])
    for _ in range(9):
        actions = np.array([1, 0, 1])
        for ours, theirs in zip(batch.step(actions)[:4], singles.step(actions)[:4], strict=True):
            np.testing.assert_array_equal(ours, theirs)
    again = ludus.make_vec(batch.spec)
    assert type(again) is type(batch)
    asked = ludus.make_vec(env_id, 3, vectorization_mode="vector_entry_point")
    assert isinstance(asked, KernelVectorEnv)
    # The registry keeps what was registered.
    assert ludus.spec(env_id).vector_entry_point is None


@pytest.mark.parametrize("name", ["Shaped", "StartsAnew", "Function"])
def test_steps_in_python_are_called(name: str) -> None:
    envs = ludus.make_vec(f"tests/{name}-v0", 2)
    assert isinstance(envs, SyncVectorEnv)
    envs.reset(seed=0)
    if name == "Shaped":
        assert envs.step(np.array([0, 1]))[1].tolist() == [2.0, 2.0]
    with pytest.raises(Error, match="vector entry point"):
        ludus.make_vec(f"tests/{name}-v0", 2, vectorization_mode="vector_entry_point")


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "tests/Heavier-v0"])
@pytest.mark.parametrize("mode", [*AutoresetMode, "SameStep"])
def test_the_mode_in_vector_kwargs_reaches_the_compiled_batch(env_id: str, mode: Any) -> None:
    envs = ludus.make_vec(env_id, 2, vector_kwargs={"autoreset_mode": mode})
    assert isinstance(envs, KernelVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode(mode)
    again = ludus.make_vec(envs.spec)
    assert again.metadata["autoreset_mode"] is AutoresetMode(mode)


def test_other_vector_kwargs_and_wrappers_take_single_environments() -> None:
    for given in (
        {"vector_kwargs": {"copy": False}},
        {"vector_kwargs": {"copy": False, "autoreset_mode": "SameStep"}},
        {"wrappers": [ludus.wrappers.TimeAwareObservation]},
    ):
        assert isinstance(ludus.make_vec("CartPole-v1", 2, **given), SyncVectorEnv)


def test_a_batch_that_has_one_mode_only_is_not_asked_for_another() -> None:
    from ludus.envs.classic_control.cartpole import CartPoleVectorEnv

    ludus.register("tests/Own-v0", CartPoleEnv, vector_entry_point=CartPoleVectorEnv)
    envs = ludus.make_vec("tests/Own-v0", 2, vector_kwargs={"autoreset_mode": "SameStep"})
    assert isinstance(envs, SyncVectorEnv)
    assert type(ludus.make_vec("tests/Own-v0", 2)) is CartPoleVectorEnv


def test_vector_kwargs_beside_the_entry_point_are_refused_as_in_gymnasium() -> None:
    with pytest.raises(Error, match="vector_kwargs"):
        ludus.make_vec(
            "CartPole-v1",
            2,
            vectorization_mode="vector_entry_point",
            vector_kwargs={"autoreset_mode": "SameStep"},
        )


# --- compile ---------------------------------------------------------------------------------


@pytest.mark.parametrize("compile", ["wait", "background", "never"])
@pytest.mark.parametrize("env_id", ["CartPole-v1", "TicTacToe-v1"])
def test_own_batches_take_compile_whether_or_not_they_compile(env_id: str, compile: str) -> None:
    envs = ludus.make_vec(env_id, 2, compile=compile)
    assert envs.reset(seed=0)[0] is not None
    again = ludus.make_vec(envs.spec)
    assert type(again) is type(envs)
    again.close()
    envs.close()


@pytest.mark.parametrize("env_id", ["CartPole-v1", "TicTacToe-v1"])
def test_an_unknown_way_to_compile_is_refused(env_id: str) -> None:
    with pytest.raises(KernelError, match="compile must be 'wait', 'background' or 'never'"):
        ludus.make_vec(env_id, 2, compile="soon")


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_single_environments_refuse_compile(mode: str) -> None:
    with pytest.raises(InvalidArgument, match="single environments.*LUDUS_COMPILE"):
        ludus.make_vec("CartPole-v1", 2, vectorization_mode=mode, compile="wait")


class Compiler(PendulumEnv):
    """Has an option of that name."""

    def __init__(self, compile: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.compile_option = compile


def test_an_option_of_that_name_reaches_its_environment() -> None:
    ludus.register("tests/Compiler-v0", Compiler)
    envs = ludus.make_vec("tests/Compiler-v0", 2, vectorization_mode="sync", compile="mine")
    assert envs.get_attr("compile_option") == ("mine", "mine")
