"""What holds for every wrapper of vector environments."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ludus
import ludus.wrappers.vector as vector_wrappers
from ludus.core import AutoresetMode, VectorWrapper
from ludus.core.state import copy_plain
from ludus.errors import StateError
from ludus.wrappers.transform_action import TransformAction
from ludus.wrappers.transform_observation import TransformObservation
from ludus.wrappers.transform_reward import TransformReward
from tests.reference.twins import assert_same, twin_env
from tests.wrappers.vector.support import twins

Build = Callable[[str], Any]


def _of(name: str, observation: str = "box", action: str = "discrete", **kwargs: Any) -> Build:
    def build(folder: str) -> Any:
        cls = getattr(vector_wrappers, name)
        if name == "RecordVideo":
            kwargs.update(video_folder=folder, gc_trigger=None)
        render_mode = "rgb_array" if name in ("RecordVideo", "HumanRendering") else None
        envs = twins(observation, action, render_mode=render_mode)
        envs.metadata["render_fps"] = 100_000
        return cls(envs, **kwargs)

    return build


BUILDERS: dict[str, Build] = {
    "ArrayConversion": _of("ArrayConversion", env_xp=np, target_xp=np),
    "ClipAction": _of("ClipAction", action="box"),
    "ClipReward": _of("ClipReward", min_reward=0.0),
    "DictInfoToList": _of("DictInfoToList"),
    "DtypeObservation": _of("DtypeObservation", "image", dtype=np.int32),
    "FilterObservation": _of("FilterObservation", "dict", filter_keys=["a"]),
    "FlattenObservation": _of("FlattenObservation", "tuple"),
    "GrayscaleObservation": _of("GrayscaleObservation", "image"),
    "HumanRendering": _of("HumanRendering"),
    "NormalizeObservation": _of("NormalizeObservation"),
    "NormalizeReward": _of("NormalizeReward"),
    "NumpyToTorch": _of("NumpyToTorch"),
    "RecordEpisodeStatistics": _of("RecordEpisodeStatistics"),
    "RecordVideo": _of("RecordVideo", step_trigger=lambda step: step == 4),
    "RescaleAction": _of("RescaleAction", action="box", min_action=0, max_action=1),
    "RescaleObservation": _of("RescaleObservation", min_obs=0, max_obs=1),
    "ReshapeObservation": _of("ReshapeObservation", "image", shape=(36, 10)),
    "ResizeObservation": _of("ResizeObservation", "image", shape=(4, 4)),
    "TransformAction": _of("TransformAction", func=lambda act: 3 - act),
    "TransformObservation": _of("TransformObservation", func=np.negative),
    "TransformReward": _of("TransformReward", func=np.negative),
    "VectorizeTransformAction": _of(
        "VectorizeTransformAction",
        wrapper=TransformAction,
        func=lambda act: 3 - act,
        action_space=None,
    ),
    "VectorizeTransformObservation": _of(
        "VectorizeTransformObservation", wrapper=TransformObservation, func=np.negative
    ),
    "VectorizeTransformReward": _of(
        "VectorizeTransformReward", wrapper=TransformReward, func=np.negative
    ),
}
NEED_JAX = {"JaxToNumpy", "JaxToTorch"}


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(part) for key, part in value.items() if key != "t"}
    if isinstance(value, list | tuple):
        return [without_times(part) for part in value]
    return value


def steps(envs: Any, count: int, seed: int) -> list[Any]:
    space = envs.action_space
    space.seed(seed)
    return [without_times(envs.step(_like_wrapped(envs, space.sample()))) for _ in range(count)]


def _like_wrapped(envs: Any, action: Any) -> Any:
    if type(envs).__name__ == "NumpyToTorch":
        return pytest.importorskip("torch").tensor(action)
    return action


def test_the_table_covers_every_wrapper() -> None:
    assert set(BUILDERS) | NEED_JAX | {"VectorListInfo"} == set(vector_wrappers.__all__)


@pytest.mark.parametrize("name", sorted(BUILDERS))
@pytest.mark.filterwarnings("ignore:.*(Overwriting|precision lowered).*")
def test_a_restored_wrapper_goes_on_the_same_way(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr("ludus.wrappers.video.write_video", lambda *args, **kwargs: None)
    envs, twin = (BUILDERS[name](str(tmp_path / "videos")) for _ in range(2))
    envs.reset(seed=3)
    steps(envs, 20, seed=1)
    state = envs.get_state()
    copy_plain(state)
    stored = pickle.dumps(state)
    expected = steps(envs, 20, seed=2)
    assert pickle.dumps(state) == stored, "going on leaves the state alone"

    twin.reset(seed=99)
    steps(twin, 3, seed=7)
    twin.set_state(pickle.loads(stored))
    assert_same(steps(twin, 20, seed=2), expected)
    assert_same(without_times(_own_fields(twin)), without_times(_own_fields(envs)))

    envs.set_state(state)
    assert_same(steps(envs, 20, seed=2), expected)
    envs.close()
    twin.close()


def _own_fields(envs: VectorWrapper) -> Any:
    fields = dict(envs.get_state()["fields"])
    return {key: value for key, value in fields.items() if key not in ("elapsed", "time_queue")}


def test_states_of_other_stacks_are_refused(tmp_path: Path) -> None:
    statistics = BUILDERS["RecordEpisodeStatistics"]("")
    rewards = BUILDERS["NormalizeReward"]("")
    with pytest.raises(StateError, match="RecordEpisodeStatistics"):
        rewards.set_state(statistics.get_state())
    damaged = rewards.get_state()
    del damaged["fields"]["return_rms"]
    with pytest.raises(StateError, match="return_rms"):
        rewards.set_state(damaged)


@pytest.mark.parametrize("name", sorted(vector_wrappers.__all__))
def test_names(name: str) -> None:
    cls = getattr(vector_wrappers, name)
    assert issubclass(cls, VectorWrapper)
    assert cls.__doc__
    assert name in dir(vector_wrappers)


@pytest.mark.parametrize("name", sorted(set(BUILDERS) - {"HumanRendering", "RecordVideo"}))
def test_single_environments_are_refused(name: str) -> None:
    cls = getattr(vector_wrappers, name)
    kwargs = {
        "ArrayConversion": {"env_xp": np, "target_xp": np},
        "DtypeObservation": {"dtype": np.int32},
        "FilterObservation": {"filter_keys": []},
        "RescaleAction": {"min_action": 0, "max_action": 1},
        "RescaleObservation": {"min_obs": 0, "max_obs": 1},
        "ReshapeObservation": {"shape": ()},
        "ResizeObservation": {"shape": ()},
    }.get(name, {"func": abs} if name.startswith("Transform") else {})
    if name.startswith("Vectorize"):
        kwargs = {"wrapper": None}
    with pytest.raises(TypeError, match="VectorEnv"):
        cls(twin_env(ludus), **kwargs)


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match="Nonsense"):
        vector_wrappers.Nonsense  # noqa: B018


def test_importing_loads_no_optional_library() -> None:
    code = (
        "import sys, ludus.wrappers.vector as v\n"
        "for name in v.__all__: getattr(v, name)\n"
        "heavy = {'pygame', 'cv2', 'moviepy', 'torch', 'jax', 'array_api_compat'}\n"
        "raise SystemExit(sorted(heavy & set(sys.modules)) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("mode", AutoresetMode)
def test_wrappers_that_fit_every_autoreset_mode(mode: AutoresetMode) -> None:
    envs: Any = twins(mode=mode)
    for cls in (
        vector_wrappers.RecordEpisodeStatistics,
        vector_wrappers.NormalizeReward,
        vector_wrappers.DictInfoToList,
    ):
        envs = cls(envs)
    envs.reset(seed=0)
    assert len(envs.step(np.zeros(3, np.int64))[4]) == 3
