from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ludus.core import AutoresetMode
from ludus.errors import Error
from ludus.wrappers.vector import RecordVideo
from tests.wrappers.vector.support import twins

pytest.importorskip("moviepy")

NOOP = np.zeros(3, np.int64)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Collect what would be written, by name."""
    videos: dict[str, Any] = {}

    def write(frames: Any, path: Path, *, fps: float, logger: str | None) -> None:
        videos[path.name] = (list(frames), fps, logger)

    monkeypatch.setattr("ludus.wrappers.video.write_video", write)
    return videos


def recorded(folder: Path, mode: Any = AutoresetMode.NEXT_STEP, **kwargs: Any) -> Any:
    length = kwargs.pop("mean_length", 7)
    inner = twins(mode=mode, render_mode="rgb_array", mean_length=length)
    return RecordVideo(inner, str(folder / "videos"), gc_trigger=None, **kwargs)


def test_a_real_file(tmp_path: Path) -> None:
    envs = recorded(tmp_path, video_length=3, mean_length=1000)
    envs.reset(seed=0)
    for _ in range(4):
        envs.step(NOOP)
    envs.close()
    files = list((tmp_path / "videos").iterdir())
    assert [file.name for file in files] == ["rl-video-episode-0.mp4"]
    assert files[0].stat().st_size > 100


def test_frames_form_a_grid(tmp_path: Path, written: dict[str, Any]) -> None:
    envs = recorded(tmp_path, fps=5, disable_logger=False)
    envs.reset(seed=0)
    envs.step(NOOP)
    envs.close()
    frames, fps, logger = written["rl-video-episode-0.mp4"]
    assert [frame.shape for frame in frames] == [(16, 60, 3)] * 2
    assert (fps, logger) == (5, "bar")
    assert (frames[1][:, :20] == envs.unwrapped.envs[0].render()).all()


@pytest.mark.parametrize(
    ("aspect", "shape"), [((1, 1), (32, 40)), ((9, 1), (16, 80)), ((1, 9), (32, 40))]
)
def test_aspect_ratio(
    aspect: tuple[int, int], shape: tuple[int, int], tmp_path: Path, written: dict[str, Any]
) -> None:
    inner = twins(render_mode="rgb_array", num_envs=4)
    envs: Any = RecordVideo(inner, str(tmp_path / "v"), aspect, gc_trigger=None)
    envs.reset(seed=0)
    assert envs.recorded_frames[0].shape[:2] == shape
    envs.close()


def test_first_environment_only(tmp_path: Path, written: dict[str, Any]) -> None:
    envs = recorded(tmp_path, record_first_only=True)
    envs.reset(seed=0)
    assert envs.recorded_frames[0].shape == (16, 20, 3)
    envs.close()


@pytest.mark.filterwarnings("ignore:.*same-step.*")
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_one_video_per_episode_of_the_first_environment(
    mode: AutoresetMode, tmp_path: Path, written: dict[str, Any]
) -> None:
    envs = recorded(tmp_path, mode, mean_length=1, episode_trigger=lambda episode: True)
    envs.reset(seed=0)
    for _ in range(4):
        envs.step(NOOP)
    envs.close()
    count = 3 if mode is AutoresetMode.NEXT_STEP else 5
    assert list(written) == [f"rl-video-episode-{i}.mp4" for i in range(count)]
    lengths = [len(frames) for frames, _, _ in written.values()]
    assert lengths == ([2, 2, 1] if mode is AutoresetMode.NEXT_STEP else [1, 1, 1, 1, 1])


def test_partial_resets(tmp_path: Path, written: dict[str, Any]) -> None:
    envs = recorded(tmp_path, AutoresetMode.DISABLED, episode_trigger=lambda episode: True)
    envs.reset(seed=0)
    envs.reset(options={"reset_mask": np.array([False, True, True])})
    assert envs.episode_id == 0
    envs.reset(options={"reset_mask": np.array([True, False, False])})
    assert envs.episode_id == 1
    assert list(written) == ["rl-video-episode-0.mp4"]
    envs.close()


def test_step_trigger_and_length(tmp_path: Path, written: dict[str, Any]) -> None:
    envs = recorded(
        tmp_path, step_trigger=lambda step: step in (1, 2), video_length=3, name_prefix="x"
    )
    envs.reset(seed=0)
    for _ in range(9):
        envs.step(NOOP)
    assert not envs.recording
    envs.close()
    assert {name: len(video[0]) for name, video in written.items()} == {
        "x-step-1.mp4": 1,
        "x-step-2.mp4": 4,
    }


def test_recording_by_hand(tmp_path: Path, written: dict[str, Any]) -> None:
    envs = recorded(tmp_path, step_trigger=lambda step: False)
    with pytest.raises(Error, match="no recording was started"):
        envs.stop_recording()
    envs.reset(seed=0)
    envs.start_recording("mine")
    with pytest.warns(UserWarning, match="zero frames"):
        envs.stop_recording()
    envs.start_recording("mine")
    envs.step(NOOP)
    envs.stop_recording()
    assert list(written) == ["mine.mp4"]


def test_lost_frames_are_reported(tmp_path: Path) -> None:
    envs = recorded(tmp_path)
    envs.reset(seed=0)
    with pytest.warns(UserWarning, match=r"Unable to save last video.*Did you call close\(\)\?"):
        del envs


def test_garbage_is_collected_on_request(
    tmp_path: Path, written: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    collected: list[int] = []
    monkeypatch.setattr("gc.collect", lambda: collected.append(1))
    inner = twins(render_mode="rgb_array")
    envs: Any = RecordVideo(inner, str(tmp_path / "v"))
    envs.reset(seed=0)
    envs.close()
    assert collected == [1]


def test_warnings_at_construction(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Overwriting existing videos"):
        RecordVideo(twins(render_mode="rgb_array"), str(tmp_path))
    inner = twins(render_mode="rgb_array", mode=AutoresetMode.SAME_STEP)
    with pytest.warns(UserWarning, match="same-step"):
        RecordVideo(inner, str(tmp_path / "a"))
    del inner.metadata["autoreset_mode"]
    with pytest.warns(UserWarning, match="autoreset mode"):
        envs: Any = RecordVideo(inner, str(tmp_path / "b"))
    assert envs.autoreset_mode is AutoresetMode.NEXT_STEP


@pytest.mark.parametrize("mode", [None, "ansi"])
def test_render_modes_without_images(mode: str | None, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="incompatible with RecordVideo"):
        RecordVideo(twins(render_mode=mode), str(tmp_path / "v"))
    assert not (tmp_path / "v").exists()


@pytest.mark.parametrize("frames", [None, ()])
def test_missing_frames(frames: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    envs = recorded(tmp_path)
    monkeypatch.setattr(envs.env, "render", lambda: frames)
    with pytest.raises(TypeError, match="3 frames"):
        envs.reset(seed=0)
