from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ludus.errors import DependencyNotInstalled, Error
from ludus.wrappers import RecordVideo, RenderCollection
from ludus.wrappers.video import capped_cubic_video_schedule, write_video
from tests.videos import opened_video
from tests.wrappers.script_env import ScriptEnv


class Film(ScriptEnv):
    """Frames large enough for a codec; the brightness tells the step."""

    def render(self) -> Any:
        return np.full((32, 48, 3), 40 * self.position, np.uint8)


def never(_: int) -> bool:
    return False


def read(path: Path) -> tuple[list[int], float]:
    """Return the steps that the frames show, and the frames per second."""
    with opened_video(path) as clip:
        frames = [round(float(frame.mean()) / 40) for frame in clip.iter_frames()]
        return frames, clip.fps


def play(env: Any, episodes: int) -> None:
    for _ in range(episodes):
        env.reset()
        while not env.step(0)[2]:
            pass


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_chosen_episodes_are_written_whole(tmp_path: Path) -> None:
    folder = tmp_path / "films"
    env = RecordVideo(Film(render_mode="rgb_array"), str(folder), episode_trigger=lambda i: i != 1)
    play(env, 3)
    assert names(folder) == ["rl-video-episode-0.mp4"], "the last one is still being recorded"
    assert env.recording
    env.close()
    assert names(folder) == ["rl-video-episode-0.mp4", "rl-video-episode-2.mp4"]
    for name in names(folder):
        assert read(folder / name) == ([0, 1, 2, 3, 4, 5], 50)
    assert not env.recording
    assert env.recorded_frames == []
    assert env.video_folder == str(folder)


def test_chosen_steps_start_clips_of_fixed_length(tmp_path: Path) -> None:
    folder = tmp_path / "films"
    env = RecordVideo(
        Film(render_mode="rgb_array"),
        str(folder),
        step_trigger=lambda step: step == 2,
        video_length=4,
        name_prefix="clip",
        fps=10,
    )
    play(env, 2)
    env.close()
    assert names(folder) == ["clip-step-2.mp4"]
    # One frame more than asked for, as Gymnasium counts.
    assert read(folder / "clip-step-2.mp4") == ([3, 4, 5, 0, 1], 10)


def test_new_start_writes_the_clip_before(tmp_path: Path) -> None:
    folder = tmp_path / "films"
    env = RecordVideo(Film(render_mode="rgb_array"), str(folder), episode_trigger=never)
    env.reset()
    env.start_recording("one")
    env.step(0)
    env.start_recording("two")
    env.step(0)
    env.stop_recording()
    assert names(folder) == ["one.mp4", "two.mp4"]
    assert read(folder / "two.mp4")[0] == [2]
    with pytest.raises(Error, match="no recording was started"):
        env.stop_recording()


def test_video_is_written_even_if_the_environment_fails_to_close(tmp_path: Path) -> None:
    class Broken(Film):
        def close(self) -> None:
            raise RuntimeError("stuck")

    folder = tmp_path / "films"
    env = RecordVideo(Broken(render_mode="rgb_array"), str(folder))
    env.reset()
    with pytest.raises(RuntimeError, match="stuck"):
        env.close()
    assert names(folder) == ["rl-video-episode-0.mp4"]


def test_half_a_file_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from moviepy.video.io.ImageSequenceClip import ImageSequenceClip

    def fail_half_way(clip: Any, path: str, **_: Any) -> None:
        Path(path).write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(ImageSequenceClip, "write_videofile", fail_half_way)
    (tmp_path / "film.mp4").write_text("the one before")
    with pytest.raises(OSError, match="disk full"):
        write_video([np.zeros((32, 48, 3), np.uint8)], tmp_path / "film.mp4", fps=5)
    assert names(tmp_path) == ["film.mp4"]
    assert (tmp_path / "film.mp4").read_text() == "the one before"


def test_restored_recording_becomes_the_same_film(tmp_path: Path) -> None:
    env = RecordVideo(Film(render_mode="rgb_array"), str(tmp_path / "a"))
    env.reset()
    env.step(0)
    env.step(0)
    state = env.get_state()
    copy = RecordVideo(Film(render_mode="rgb_array"), str(tmp_path / "b"))
    copy.set_state(state)
    for one in (env, copy):
        one.step(0)
        one.close()
    name = "rl-video-episode-0.mp4"
    assert read(tmp_path / "a" / name) == read(tmp_path / "b" / name) == ([0, 1, 2, 3], 50)


def test_lists_of_frames_reach_both_film_and_caller(tmp_path: Path) -> None:
    inner = RenderCollection(Film(render_mode="rgb_array"))
    env = RecordVideo(inner, str(tmp_path / "films"))
    env.reset()
    env.step(0)
    assert [int(frame[0, 0, 0]) for frame in env.render()] == [0, 40]
    inner.render()
    with pytest.warns(UserWarning, match="cannot be captured"):
        env._capture_frame()
    env.close()


def test_frames_that_are_no_images_stop_the_recording(tmp_path: Path) -> None:
    class Text(ScriptEnv):
        def render(self) -> Any:
            return "text"

    env = RecordVideo(Text(render_mode="rgb_array"), str(tmp_path / "films"))
    with (
        pytest.warns(UserWarning, match="Recording stopped"),
        pytest.warns(UserWarning, match="zero frames"),
    ):
        env.reset()
    assert not env.recording


def test_lost_film_is_reported(tmp_path: Path) -> None:
    envs = [RecordVideo(Film(render_mode="rgb_array"), str(tmp_path / "films"))]
    envs[0].reset()
    gc.collect()
    with pytest.warns(
        UserWarning, match=r"Unable to save last video, 1 frames.*Did you call close\(\)\?"
    ):
        envs.clear()


def test_existing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Overwriting existing videos"):
        RecordVideo(Film(render_mode="rgb_array"), str(tmp_path))


@pytest.mark.parametrize("mode", [None, "human", "ansi"])
def test_bad_mode_leaves_no_folder(mode: str | None, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="incompatible"):
        RecordVideo(Film(render_mode=mode), str(tmp_path / "films"))
    assert names(tmp_path) == []


def test_missing_moviepy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "moviepy", None)
    with pytest.raises(DependencyNotInstalled, match=r"ludus-gym\[video\]"):
        RecordVideo(Film(render_mode="rgb_array"), str(tmp_path / "films"))


def test_garbage_is_collected_on_request(tmp_path: Path) -> None:
    asked: list[int] = []
    env = RecordVideo(
        Film(render_mode="rgb_array"),
        str(tmp_path / "films"),
        gc_trigger=lambda episode: bool(asked.append(episode)),
    )
    play(env, 1)
    env.close()
    assert asked == [0]


def test_default_schedule() -> None:
    chosen = [i for i in range(3001) if capped_cubic_video_schedule(i)]
    assert chosen == [i**3 for i in range(10)] + [1000, 2000, 3000]
