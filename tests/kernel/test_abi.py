"""Assumptions about CPython and NumPy are checked; where one fails, ctypes calls compiled code."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest

import ludus
from ludus.kernel import program
from ludus.kernel.native import abi
from tests.reference.twins import assert_same


@pytest.fixture(autouse=True)
def check_again(monkeypatch):
    # Programs hold functions that were made under other assumptions.
    monkeypatch.setattr(program, "_programs", {})
    abi.is_known.cache_clear()
    yield
    abi.is_known.cache_clear()


@pytest.mark.parametrize("name", abi._CHECKS)
def test_this_python_is_known(name):
    assert abi._CHECKS[name]()


WRONG = {
    "TYPE": (16, "head of objects"),
    "TUPLE": (abi.TUPLE + 8, "form of tuples"),
    "ONE_ARGUMENT": (0x04, "form of builtin functions"),
    "FASTCALL": (0x40, "form of builtin functions"),
    "SCALAR": (24, "form of NumPy's scalars"),
    "WRITABLE": (0x800, "meaning of flags"),
    "_VERSIONS": ((0x03000000,), "table of NumPy's functions"),
}
WRONG |= {
    f"ARRAY {name}": ({**abi.ARRAY, name: at + 8}, "form of NumPy's arrays")
    for name, at in abi.ARRAY.items()
    # The field before the descriptor is the array's base, which may be the same object.
    if name != "weakrefs"
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_assumption_is_noticed(name, monkeypatch):
    value, told = WRONG[name]
    monkeypatch.setattr(abi, name.split()[0], value)
    with pytest.warns(RuntimeWarning, match=f"has another {told}.*ctypes"):
        assert not abi.is_known()
    # Once is enough.
    assert not abi.is_known()


def play():
    env = ludus.make("CartPole-v1").unwrapped
    seen = [env.reset(seed=3), *(env.step(k % 2) for k in range(20))]
    for mode in ("NextStep", "SameStep", "Disabled"):
        envs = ludus.make_vec("CartPole-v1", 5, autoreset_mode=mode, max_episode_steps=30)
        envs.action_space.seed(1)
        seen.append(envs.reset(seed=3))
        seen += [envs.step(envs.action_space.sample()) for _ in range(9 if mode[0] == "D" else 60)]
    seen.append(tuple(envs.rollout(np.ones((2, 5), np.int64))))
    envs = ludus.make_vec("Pendulum-v1", 64, num_threads=2)
    envs.action_space.seed(1)
    seen.append(envs.reset(seed=3))
    seen += [envs.step(envs.action_space.sample()) for _ in range(5)]
    envs.close()
    return env, seen


def test_another_python_gives_the_same_bits(monkeypatch):
    native, expected = play()
    assert type(native._advance).__name__ == "builtin_function_or_method"
    monkeypatch.setattr(program, "_programs", {})
    abi.is_known.cache_clear()
    monkeypatch.setattr(sys, "getobjects", None, raising=False)
    with pytest.warns(RuntimeWarning, match="kind of build") as told:
        env, found = play()
    assert len(told) == 1
    assert env._program.jit
    assert type(env._advance).__name__ == "function"
    assert_same(found, expected)


def test_errors_come_through_ctypes(monkeypatch):
    monkeypatch.setattr(sys, "getobjects", None, raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = ludus.make("CartPole-v1").unwrapped
        env.reset(seed=1)
        with pytest.raises(ludus.errors.InvalidAction):
            env.step(7)
