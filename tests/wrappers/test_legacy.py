from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import ludus
from ludus.errors import Error
from ludus.spaces import Box, Dict, Discrete
from ludus.wrappers import legacy
from tests.wrappers.script_env import ScriptEnv


def test_old_arguments() -> None:
    env: Any = legacy.TransformReward(ScriptEnv(), f=lambda reward: reward * 7)
    env = legacy.TransformObservation(legacy.ClipReward(env, min_r=0, max_r=5), f=abs)
    env.reset()
    assert env.step(0)[1] == 5
    signs = legacy.SignReward(ScriptEnv(rewards=[-3, 0, 2, 1, 1]))
    signs.reset()
    assert [signs.step(0)[1] for _ in range(3)] == [-1, 0, 1]


def test_auto_reset_wrapper_resets_at_once() -> None:
    env = legacy.AutoResetWrapper(ScriptEnv())
    env.reset()
    for _ in range(4):
        assert "final_info" not in env.step(0)[4]
    observation, reward, terminated, _, info = env.step(0)
    assert (observation[0], reward, terminated) == (0, 1.0, True)
    assert info["final_observation"] == 5
    assert info["final_info"] == {"position": 5}
    assert env.step(0)[0] == 1


def test_skip_wrapper_repeats_and_counts() -> None:
    env = legacy.SkipWrapper(2)(ScriptEnv())
    env.reset()
    observation, reward, terminated, _, info = env.step(0)
    assert (observation[0], reward, terminated) == (3, 3, False)
    assert info["skip.stepcount"] == 3
    assert env.step(0)[4]["skip.stepcount"] == 5
    env.reset()
    assert env.stepcount == 0  # type: ignore[attr-defined]
    twice = legacy.SkipWrapper(1)(legacy.SkipWrapper(1)(ScriptEnv()))
    twice.reset()
    with pytest.raises(Error, match=r"skip\.stepcount"):
        twice.step(0)


def test_flatten_dict_wrapper() -> None:
    space = Dict(a=Box(0, 9, (2,)), b=Dict(c=Box(0, 9, (1,)), d=Box(0, 9, (1,))), e=Discrete(2))
    value = {"a": np.float32([1, 2]), "b": {"c": np.ones(1), "d": np.zeros(1)}, "e": np.int64(1)}
    env = legacy.FlattenDictWrapper(ScriptEnv([value] * 3, space=space), ["b", "a"])
    observation = env.reset()[0]
    assert observation.tolist() == [1, 0, 1, 2]
    assert observation in env.observation_space


@pytest.mark.parametrize("compress", [False, True])
def test_frame_stack_is_lazy(compress: bool) -> None:
    env = legacy.FrameStack(ScriptEnv(), 3, lz4_compress=compress)
    first = env.reset()[0]
    assert isinstance(first, legacy.LazyFrames)
    assert np.asarray(first).tolist() == [[0], [0], [0]]
    stack = env.step(0)[0]
    assert stack.shape == (3, 1)
    assert stack.dtype == np.float32
    assert len(stack) == 3
    assert stack[2] == 1
    assert stack[1:].tolist() == [[0], [1]]
    assert np.array(stack, dtype=np.int64).dtype == np.int64
    assert (stack == np.float32([[0], [0], [1]])).all()
    assert np.asarray(stack) in env.observation_space


def test_gray_scale_observation_weighs_as_opencv_does() -> None:
    image = np.full((4, 4, 3), (100, 200, 50), np.uint8)
    inner = ScriptEnv([image] * 3, space=Box(0, 255, (4, 4, 3), np.uint8))
    old = legacy.GrayScaleObservation(inner, keep_dim=True).reset()[0]
    assert old.shape == (4, 4, 1)
    assert (old == round(0.299 * 100 + 0.587 * 200 + 0.114 * 50)).all()
    assert legacy.GrayScaleObservation(inner).reset()[0].shape == (4, 4)


@pytest.mark.parametrize("only", [True, False])
def test_pixel_observation_wrapper(only: bool) -> None:
    env = legacy.PixelObservationWrapper(ScriptEnv(render_mode="rgb_array"), pixels_only=only)
    observation = env.reset()[0]
    assert set(observation) == ({"pixels"} if only else {"pixels", "state"})
    assert observation in env.observation_space


def test_pixel_observation_wrapper_extends_dicts() -> None:
    value = {"a": np.int64(1)}
    inner = ScriptEnv([value] * 3, space=Dict(a=Discrete(2)), render_mode="rgb_array")
    env = legacy.PixelObservationWrapper(inner, False, {"pixels": {"mode": "rgb_array"}})
    assert set(env.reset()[0]) == {"a", "pixels"}
    with pytest.raises(ValueError, match="choose others"):
        legacy.PixelObservationWrapper(inner, False, pixel_keys=("a",))
    with pytest.raises(ValueError, match="takes no arguments"):
        legacy.PixelObservationWrapper(inner, render_kwargs={"pixels": {"width": 64}})


def test_step_api_compatibility() -> None:
    with pytest.warns(DeprecationWarning, match="old step API"):
        env = legacy.StepAPICompatibility(
            ludus.wrappers.TimeLimit(ScriptEnv(), 2), output_truncation_bool=False
        )
    env.reset()
    assert len(env.step(0)) == 4
    _, _, done, info = env.step(0)
    assert done
    assert info["TimeLimit.truncated"] is True
    assert len(legacy.StepAPICompatibility(env).step(0)) == 5


def test_env_compatibility() -> None:
    class Old:
        observation_space = Box(0, 9, (1,))
        action_space = Discrete(2)
        metadata: ClassVar[dict[str, Any]] = {"render.modes": ["ansi"]}

        def __init__(self) -> None:
            self.seeds: list[int] = []

        def seed(self, seed: int | None = None) -> None:
            self.seeds.append(seed)  # type: ignore[arg-type]

        def reset(self) -> Any:
            return np.zeros(1, np.float32)

        def step(self, action: int) -> Any:
            info = {"TimeLimit.truncated": True} if action else {}
            return np.ones(1, np.float32), 2.0, bool(action), info

        def render(self, mode: str = "human") -> str:
            return mode

        def close(self) -> None:
            self.seeds.append(-1)

    old = Old()
    env = legacy.EnvCompatibility(old, render_mode="ansi")
    observation, info = env.reset(seed=5)
    assert observation == 0
    assert info == {}
    assert old.seeds == [5]
    assert env.step(0)[2:] == (False, False, {})
    assert env.step(1)[2:] == (False, True, {})
    assert env.render() == "ansi"
    env.close()
    assert old.seeds == [5, -1]
