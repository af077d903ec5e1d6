from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ludus.classic as gym
from ludus.classic import spaces, wrappers
from tests.classic.old_envs import Counter


class Dictionary(Counter):
    def __init__(self) -> None:
        super().__init__()
        parts = {"a": spaces.Box(0, 1, (2,)), "b": spaces.Box(0, 1, (3,)), "n": spaces.Discrete(2)}
        self.observation_space = spaces.Dict(parts)

    def _observation(self) -> Any:
        return {"a": np.full(2, 0.5, np.float32), "b": np.ones(3, np.float32), "n": 1}


class Image(Counter):
    def __init__(self) -> None:
        super().__init__()
        self.observation_space = spaces.Box(0, 255, (16, 16, 3), np.uint8)

    def _observation(self) -> Any:
        return np.full((16, 16, 3), 100 + self.count, np.uint8)


class Continuous(Counter):
    def __init__(self) -> None:
        super().__init__()
        self.action_space = spaces.Box(-2.0, 2.0, (1,), np.float32)

    def step(self, action: Any) -> Any:
        observation, _, done, info = super().step(0)
        return observation, float(action[0]), done, info


def first_step(env: Any, action: Any = 1) -> Any:
    env.seed(0)
    env.reset()
    return env.step(action)


def test_every_wrapper_of_0_21_is_there() -> None:
    for name in wrappers.__all__:
        assert getattr(wrappers, name) is not None


def test_bridged_wrappers_stay_classic() -> None:
    inner = Counter()
    env = wrappers.ClipAction(Continuous())
    assert isinstance(env, gym.Wrapper)
    assert str(wrappers.TransformReward(inner, abs)) == "<TransformReward<Counter instance>>"
    assert wrappers.TransformReward(inner, abs).unwrapped is inner
    assert wrappers.TransformReward(inner, abs).seed(4) == [4]
    assert wrappers.TransformReward(inner, abs).render(mode="ansi") == "count 0\n"
    assert isinstance(wrappers.ClipAction(Continuous()), wrappers.ClipAction)
    assert isinstance(pickle.loads(pickle.dumps(env)), wrappers.ClipAction)


def test_actions() -> None:
    assert first_step(wrappers.ClipAction(Continuous()), np.array([9.0], np.float32))[1] == 2.0
    env = wrappers.RescaleAction(Continuous(), -1.0, 1.0)
    assert env.action_space.high[0] == 1.0
    assert first_step(env, np.array([1.0], np.float32))[1] == 2.0


def test_rewards() -> None:
    assert first_step(wrappers.ClipReward(Counter(), 0.0, 0.5))[1] == 0.5
    assert first_step(wrappers.SignReward(Counter()), 2)[1] == 1.0
    assert first_step(wrappers.TransformReward(Counter(), lambda r: 3 * r), 2)[1] == 6.0
    env = wrappers.NormalizeReward(Counter(), gamma=0.9)
    assert np.isfinite(first_step(env)[1])


def test_observations() -> None:
    assert first_step(wrappers.TransformObservation(Counter(), lambda o: o + 1))[0][0] == 2.0
    env: Any = wrappers.FilterObservation(Dictionary(), ["a"])
    assert list(env.observation_space.spaces) == ["a"]
    assert list(first_step(env)[0]) == ["a"]
    assert first_step(wrappers.FlattenObservation(Dictionary()))[0].shape == (7,)
    env = wrappers.FlattenDictWrapper(Dictionary(), ["b", "a"])
    assert env.observation_space.shape == (5,)
    assert first_step(env)[0].tolist() == [1, 1, 1, 0.5, 0.5]
    env = wrappers.FrameStack(Counter(), 3)
    assert env.observation_space.shape == (3, 2)
    assert np.asarray(first_step(env)[0])[:, 0].tolist() == [0, 0, 1]
    env = wrappers.TimeAwareObservation(Counter())
    assert env.reset() in env.observation_space
    assert first_step(env)[0][[0, 2]].tolist() == [1, 1]
    with pytest.raises(TypeError, match="flat Box"):
        wrappers.TimeAwareObservation(Image())
    env = wrappers.NormalizeObservation(Counter())
    first_step(env)
    assert env.obs_rms.count > 1


def test_images() -> None:
    pytest.importorskip("cv2")
    assert wrappers.GrayScaleObservation(Image()).observation_space.shape == (16, 16)
    env = wrappers.GrayScaleObservation(Image(), keep_dim=True)
    assert first_step(env)[0].shape == (16, 16, 1)
    assert first_step(wrappers.ResizeObservation(Image(), 8))[0].shape == (8, 8, 3)
    assert first_step(wrappers.ResizeObservation(Image(), (4, 6)))[0].shape == (4, 6, 3)


def test_episode_statistics() -> None:
    env: Any = wrappers.RecordEpisodeStatistics(wrappers.TimeLimit(Counter(), 3), deque_size=1)
    for _ in range(2):
        env.reset()
        for _ in range(3):
            _, _, done, info = env.step(2)
    assert done
    assert info["TimeLimit.truncated"] is True
    assert (info["episode"]["r"], info["episode"]["l"]) == (6.0, 3)
    assert list(env.return_queue) == [6.0]


def test_record_video(tmp_path: Path) -> None:
    pytest.importorskip("moviepy")
    env = wrappers.RecordVideo(Counter(), str(tmp_path / "videos"), name_prefix="film")
    first_step(env)
    env.close()
    assert [path.name for path in (tmp_path / "videos").iterdir()] == ["film-episode-0.mp4"]


def test_skip_repeats_and_counts() -> None:
    env: Any = wrappers.SkipWrapper(2)(Counter())
    env.reset()
    assert env.step(1)[1:] == (3.0, False, {"count": 3, "skip.stepcount": 3})
    assert env.step(1)[1:] == (2.0, True, {"count": 5, "skip.stepcount": 5})
    env.reset()
    assert env.stepcount == 0


def test_time_limit_takes_the_specs() -> None:
    env = gym.make("CartPole-v1")
    assert env._max_episode_steps == 500
    shorter = wrappers.TimeLimit(env.env, 7)
    assert shorter._max_episode_steps == 7 == shorter.spec.max_episode_steps
    assert wrappers.TimeLimit(Counter())._max_episode_steps is None
