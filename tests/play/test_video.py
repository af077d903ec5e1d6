"""Videos are written and read back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ludus.errors import DependencyNotInstalled
from ludus.play import capped_cubic_video_schedule, save_video
from tests.videos import opened_video

pytest.importorskip("moviepy")


def _frames(count: int) -> list[Any]:
    return [np.full((32, 48, 3), 20 * i + 10, np.uint8) for i in range(count)]


def _brightness(path: Path) -> list[int]:
    with opened_video(path) as clip:
        assert clip.size == [48, 32]
        assert clip.fps == 10
        return [round(float(frame.mean())) for frame in clip.iter_frames()]


def test_an_episode_is_written(tmp_path: Path) -> None:
    save_video(_frames(6), str(tmp_path / "new" / "folder"), fps=10, episode_index=8)
    video = tmp_path / "new" / "folder" / "rl-video-episode-8.mp4"
    assert _brightness(video) == pytest.approx([10, 30, 50, 70, 90, 110], abs=4)


def test_the_schedule_decides(tmp_path: Path) -> None:
    save_video(_frames(3), str(tmp_path), fps=10, episode_index=7)
    assert list(tmp_path.iterdir()) == []


def test_triggers_length_and_prefix(tmp_path: Path) -> None:
    save_video(
        _frames(6),
        str(tmp_path),
        episode_trigger=lambda episode: episode == 3,
        step_trigger=lambda step: step in (10, 13),
        video_length=2,
        name_prefix="try",
        episode_index=3,
        step_starting_index=10,
        fps=10,
    )
    names = {path.name: path for path in tmp_path.iterdir()}
    assert set(names) == {"try-episode-3.mp4", "try-step-10.mp4", "try-step-13.mp4"}
    assert _brightness(names["try-episode-3.mp4"]) == pytest.approx([10, 30], abs=4)
    # Step 10 leads to the frame after the reset's.
    assert _brightness(names["try-step-10.mp4"]) == pytest.approx([30, 50], abs=4)
    assert _brightness(names["try-step-13.mp4"]) == pytest.approx([90, 110], abs=4)


def test_a_step_trigger_alone_writes_no_episode(tmp_path: Path) -> None:
    save_video(_frames(3), str(tmp_path), step_trigger=lambda step: False, fps=10)
    assert list(tmp_path.iterdir()) == []


def test_frames_should_be_a_list(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Expected a list of frames, got a <class 'tuple'>"):
        save_video(tuple(_frames(2)), str(tmp_path), episode_index=2, fps=10)


def test_moviepy_may_be_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "moviepy.video.io.ImageSequenceClip", None)
    with pytest.raises(DependencyNotInstalled, match=r"ludus-gym\[video\]"):
        save_video(_frames(2), str(tmp_path), fps=10)


def test_schedule() -> None:
    recorded = [i for i in range(3001) if capped_cubic_video_schedule(i)]
    assert recorded == [0, 1, 8, 27, 64, 125, 216, 343, 512, 729, 1000, 2000, 3000]
