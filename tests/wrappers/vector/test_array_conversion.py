from __future__ import annotations

import pickle
import sys
from typing import Any

import numpy as np
import pytest

from ludus.core import AutoresetMode
from ludus.errors import DependencyNotInstalled
from ludus.wrappers.vector import ArrayConversion, JaxToNumpy, JaxToTorch, NumpyToTorch
from tests.wrappers.vector.support import Scripted, twins

torch = pytest.importorskip("torch")
jnp = pytest.importorskip("jax.numpy")


def test_numpy_to_torch() -> None:
    envs: Any = NumpyToTorch(twins("dict"), device="cpu")
    assert envs.device == "cpu"
    obs, infos = envs.reset(seed=0, options={"level": torch.tensor(1)})
    assert isinstance(obs["a"], torch.Tensor)
    assert isinstance(infos["start"], torch.Tensor)
    result = envs.step(torch.zeros(3, dtype=torch.int64))
    assert all(isinstance(part, torch.Tensor) for part in result[1:4])
    assert result[1].dtype == torch.float64
    assert result[2].dtype == torch.bool


@pytest.mark.parametrize("wrapper", [JaxToNumpy, JaxToTorch])
def test_from_jax(wrapper: Any) -> None:
    envs = wrapper(ArrayConversion(twins("box", "box"), env_xp=np, target_xp=jnp))
    expected = np.ndarray if wrapper is JaxToNumpy else torch.Tensor
    action = np.zeros((3, 2), np.float32)
    obs, _ = envs.reset(seed=0)
    assert isinstance(obs, expected)
    result = envs.step(action if wrapper is JaxToNumpy else torch.tensor(action))
    assert all(isinstance(part, expected) for part in result[:4])


def test_final_observations_are_converted_one_by_one() -> None:
    envs: Any = NumpyToTorch(twins("dict", mode=AutoresetMode.SAME_STEP, mean_length=1))
    envs.reset(seed=0)
    infos = envs.step(torch.zeros(3, dtype=torch.int64))[4]
    assert isinstance(infos["final_obs"], np.ndarray)
    assert isinstance(infos["final_obs"][0]["a"], torch.Tensor)
    assert isinstance(infos["final_info"]["count"], torch.Tensor)


def test_text_and_nothing_in_infos_stay() -> None:
    infos = {"name": np.array(["a", None], dtype=object)}
    envs: Any = NumpyToTorch(Scripted([(np.zeros(2), [0, 0], infos)]))
    assert envs.step(torch.zeros(2))[4]["name"].tolist() == ["a", None]


def test_pickling() -> None:
    envs: Any = NumpyToTorch(Scripted())
    again = pickle.loads(pickle.dumps(envs))
    assert isinstance(again.reset()[0], torch.Tensor)
    assert again.observation_space == envs.observation_space


@pytest.mark.parametrize(
    ("wrapper", "module"),
    [
        (NumpyToTorch, "torch"),
        (JaxToTorch, "jax.numpy"),
        (JaxToTorch, "torch"),
        (JaxToNumpy, "jax.numpy"),
    ],
)
def test_missing_libraries(wrapper: Any, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DependencyNotInstalled, match=r"pip install 'ludus-gym\["):
        wrapper(twins())


def test_modules_without_arrays() -> None:
    with pytest.raises(ValueError, match="Array API"):
        ArrayConversion(twins(), env_xp=np, target_xp=pickle)
