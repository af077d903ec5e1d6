from __future__ import annotations

import inspect
import pickle
import sys
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from ludus.errors import DependencyNotInstalled
from ludus.spaces import Box
from ludus.wrappers import ArrayConversion, JaxToNumpy, JaxToTorch, NumpyToTorch
from ludus.wrappers.array_conversion import _compat, array_conversion, module_namespace
from ludus.wrappers.jax_to_numpy import jax_to_numpy, numpy_to_jax
from ludus.wrappers.jax_to_torch import jax_to_torch, torch_to_jax
from ludus.wrappers.numpy_to_torch import numpy_to_torch, torch_to_numpy
from tests.wrappers.script_env import ScriptEnv

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")

Point = namedtuple("Point", "x y")


class JaxEnv(ScriptEnv):
    """Computes with JAX arrays and takes nothing else."""

    def __init__(self) -> None:
        super().__init__(action_space=Box(-1, 1, (2,)), render_mode="rgb_array")

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        if options:
            assert all(isinstance(value, jax.Array) for value in options.values())
        return jax.numpy.zeros(1), {"where": "start", "values": [jax.numpy.ones(2)]}

    def step(self, action: Any) -> Any:
        assert isinstance(action, jax.Array)
        _, reward, *flags, _ = super().step(action)
        return (
            action.sum().reshape(1),
            jax.numpy.float32(reward),
            *map(jax.numpy.asarray, flags),
            {"a": action},
        )


@pytest.mark.parametrize(
    ("wrapper", "kind", "action"),
    [
        (JaxToNumpy, np.ndarray, np.float32([0.25, 0.5])),
        (JaxToTorch, torch.Tensor, torch.tensor([0.25, 0.5])),
    ],
)
def test_jax_environment(wrapper: type[Any], kind: type, action: Any) -> None:
    env = wrapper(JaxEnv())
    observation, info = env.reset(seed=1, options={"a": action})
    assert isinstance(observation, kind)
    assert info["where"] == "start"
    assert isinstance(info["values"][0], kind)
    observation, reward, terminated, truncated, info = env.step(action)
    assert isinstance(observation, kind)
    assert float(observation[0]) == 0.75
    assert (type(reward), type(terminated), type(truncated)) == (float, bool, bool)
    assert isinstance(info["a"], kind)
    assert isinstance(env.render(), kind)


def test_numpy_environment_from_torch() -> None:
    inner = ScriptEnv(action_space=Box(-1, 1, (2,)))
    env = NumpyToTorch(inner, device="cpu")
    assert isinstance(env.reset()[0], torch.Tensor)
    env.step(torch.tensor([0.5, 1.0]))
    assert isinstance(inner.actions[0], np.ndarray)
    assert env.device == "cpu"
    assert env.render_mode is None


@pytest.mark.parametrize(
    "frameworks", [(numpy_to_torch, torch_to_numpy), (numpy_to_jax, jax_to_numpy)]
)
def test_there_and_back(frameworks: tuple[Any, Any]) -> None:
    there, back = frameworks
    value = {
        "array": np.arange(6, dtype=np.float32).reshape(2, 3),
        "pair": (np.int32([1]), [np.float32([2.0])]),
        "named": Point(np.float32([1]), None),
        "number": 3.0,
        "flag": np.bool_(True),
        "text": "as it is",
    }
    result = back(there(value))
    assert (result["array"] == value["array"]).all()
    assert isinstance(result["pair"], tuple)
    assert isinstance(result["pair"][1], list)
    assert isinstance(result["named"], Point)
    assert result["named"].y is None
    assert result["number"] == 3.0
    assert bool(result["flag"]) is True
    assert result["text"] == "as it is"


def test_read_only_arrays_are_copied() -> None:
    array = np.arange(3.0)
    array.flags.writeable = False
    tensor = numpy_to_torch(array)
    tensor[0] = 9
    assert array[0] == 0
    assert torch_to_jax(jax_to_torch(jax.numpy.arange(3))).tolist() == [0, 1, 2]


def test_unknown_types_are_refused() -> None:
    with pytest.raises(TypeError, match="no conversion of"):
        numpy_to_torch(object())


def test_further_types_can_be_registered() -> None:
    class Celsius:
        degrees = 20.0

    @array_conversion.register(Celsius)
    def _(value: Celsius, xp: Any, device: Any = None) -> Any:
        return xp.asarray(value.degrees)

    assert float(numpy_to_torch(Celsius())) == 20


def test_any_two_libraries() -> None:
    env = ArrayConversion(ScriptEnv(), env_xp=np, target_xp=jax.numpy)
    assert isinstance(env.reset()[0], jax.Array)
    with pytest.raises(ValueError, match="no Array API"):
        ArrayConversion(ScriptEnv(), env_xp=inspect, target_xp=np)


@pytest.mark.parametrize("wrapper", [NumpyToTorch, JaxToNumpy, JaxToTorch])
def test_pickle(wrapper: type[Any]) -> None:
    env = wrapper(ScriptEnv())
    copy = pickle.loads(pickle.dumps(env))
    assert type(copy.reset()[0]) is type(env.reset()[0])
    assert copy.observation_space == env.observation_space
    assert copy._target_xp is env._target_xp
    assert copy._saved_kwargs == env._saved_kwargs


def test_pickle_with_modules_among_the_arguments() -> None:
    env = ArrayConversion(ScriptEnv(), env_xp=np, target_xp=torch)
    copy = pickle.loads(pickle.dumps(env))
    assert copy._saved_kwargs == env._saved_kwargs
    assert copy._env_xp is module_namespace(np)


@pytest.mark.parametrize(
    ("module", "extra", "use"),
    [
        ("torch", "torch", lambda: NumpyToTorch(ScriptEnv())),
        ("jax.numpy", "jax", lambda: JaxToNumpy(ScriptEnv())),
        ("array_api_compat", "torch", lambda: numpy_to_torch(np.zeros(1))),
    ],
)
def test_missing_library(
    module: str, extra: str, use: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    _compat.cache_clear()
    with pytest.raises(DependencyNotInstalled, match=rf"ludus-gym\[{extra}\]"):
        use()
