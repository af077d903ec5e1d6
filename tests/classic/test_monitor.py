from __future__ import annotations

import json
import os
import tempfile
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ludus.classic as gym
from ludus.classic import error
from ludus.classic.wrappers import Monitor
from ludus.classic.wrappers.monitoring import VideoRecorder
from tests.classic.old_envs import Counter

pytestmark = pytest.mark.filterwarnings("ignore:.*Monitor wrapper:DeprecationWarning")


class Text(Counter):
    metadata = {"render.modes": ["ansi"]}


class Blind(Counter):
    metadata = {"render.modes": ["human"]}


def monitored(directory: Path, env: Any = None, **kwargs: Any) -> Monitor:
    return Monitor(Blind() if env is None else env, directory, **{"uid": "u", **kwargs})


def episode(env: Any, action: int = 1) -> None:
    env.reset()
    while not env.step(action)[2]:
        pass


def files(directory: Path, pattern: str = "*") -> list[str]:
    return sorted(path.name for path in directory.glob(pattern))


def read(directory: Path, kind: str) -> Any:
    (path,) = directory.glob(f"openaigym.{kind}.*.json")
    return json.loads(path.read_text())


def test_it_warns_of_its_successors(tmp_path: Path) -> None:
    with pytest.warns(DeprecationWarning, match=r"RecordVideo and RecordEpisodeStatistics"):
        monitored(tmp_path)


def test_files_and_keys(tmp_path: Path) -> None:
    env = monitored(tmp_path / "new" / "run")
    episode(env)
    episode(env, action=2)
    assert files(tmp_path / "new" / "run") == []
    env.close()
    stats, manifest = files(tmp_path / "new" / "run")
    number = stats.split(".")[2]
    assert stats == f"openaigym.episode_batch.{number}.u.stats.json"
    assert manifest == f"openaigym.manifest.{number}.u.manifest.json"
    data = read(tmp_path / "new" / "run", "episode_batch")
    assert sorted(data) == [
        "episode_lengths",
        "episode_rewards",
        "episode_types",
        "initial_reset_timestamp",
        "timestamps",
    ]
    assert data["episode_lengths"] == [5, 5]
    assert data["episode_rewards"] == [5.0, 10.0]
    assert data["episode_types"] == ["t", "t"]
    assert data["initial_reset_timestamp"] <= data["timestamps"][0] <= data["timestamps"][1]
    assert read(tmp_path / "new" / "run", "manifest") == {
        "stats": stats,
        "videos": [],
        "env_info": {"gym_version": "0.21.0", "env_id": "(unknown)"},
    }


def test_the_process_id_stands_for_a_uid_and_numbers_differ(tmp_path: Path) -> None:
    for _ in range(2):
        env = Monitor(Blind(), tmp_path, resume=True)
        episode(env)
        env.close()
    names = files(tmp_path, "*manifest*")
    assert len(names) == 2
    assert all(name.split(".")[3] == str(os.getpid()) for name in names)


def test_the_env_id_of_a_made_environment(tmp_path: Path) -> None:
    env = monitored(tmp_path, gym.make("CartPole-v1"), video_callable=False)
    env.seed(0)
    episode(env)
    env.close()
    assert read(tmp_path, "manifest")["env_info"]["env_id"] == "CartPole-v1"
    assert env.get_episode_lengths() == [env.get_total_steps()]


def test_getters_and_the_unfinished_episode(tmp_path: Path) -> None:
    env = monitored(tmp_path, mode="evaluation")
    episode(env)
    env.reset()
    env.step(2)
    assert env.get_total_steps() == 6
    assert env.get_episode_rewards() == [5.0]
    assert env.get_episode_lengths() == [5]
    env.close()
    assert read(tmp_path, "episode_batch")["episode_types"] == ["e", "e"]


def test_order_of_calls_is_checked(tmp_path: Path) -> None:
    env = monitored(tmp_path)
    with pytest.raises(error.ResetNeeded, match="before reset"):
        env.step(0)
    env.reset()
    env.reset()
    env.step(0)
    with pytest.raises(error.Error, match="not done"):
        env.reset()
    while not env.step(0)[2]:
        pass
    with pytest.raises(error.ResetNeeded, match="currently done"):
        env.step(0)
    env.close()
    env.step(0)
    env.reset()


def test_existing_files_need_force_or_resume(tmp_path: Path) -> None:
    def run(**kwargs: Any) -> None:
        env = monitored(tmp_path, **kwargs)
        episode(env)
        env.close()

    (tmp_path / "notes.txt").write_text("keep")
    run()
    with pytest.raises(error.Error, match=r"existing monitor files.*force=True.*resume=True"):
        run()
    run(resume=True)
    assert len(files(tmp_path, "*manifest*")) == 2
    run(force=True)
    assert len(files(tmp_path, "*manifest*")) == 1
    assert (tmp_path / "notes.txt").exists()


def test_write_upon_reset(tmp_path: Path) -> None:
    env = monitored(tmp_path, write_upon_reset=True)
    env.reset()
    assert len(files(tmp_path)) == 2
    assert read(tmp_path, "episode_batch")["episode_types"] == ["t"]


@pytest.mark.parametrize(
    ("arguments", "match"), [({"video_callable": 3}, "video_callable"), ({"mode": "x"}, "mode")]
)
def test_bad_arguments(tmp_path: Path, arguments: dict[str, Any], match: str) -> None:
    with pytest.raises(error.Error, match=match):
        monitored(tmp_path, **arguments)


def test_text_videos_of_the_scheduled_episodes(tmp_path: Path) -> None:
    env = monitored(tmp_path, Text())
    for _ in range(9):
        episode(env)
    env.close()
    videos = read(tmp_path, "manifest")["videos"]
    assert [video.split("video")[2] for video, _ in videos] == [
        "000000.json",
        "000001.json",
        "000008.json",
    ]
    assert [meta.split("video")[2] for _, meta in videos] == [
        "000000.meta.json",
        "000001.meta.json",
        "000008.meta.json",
    ]
    cast = json.loads((tmp_path / videos[0][0]).read_text())
    assert cast["version"] == 1
    assert (cast["width"], cast["height"], cast["duration"]) == (7, 1, 3.0)
    assert cast["stdout"][1] == [0.5, "\x1b[2J\x1b[1;1Hcount 1\r\n"]
    assert len(cast["stdout"]) == 6
    meta = json.loads((tmp_path / videos[0][1]).read_text())
    assert meta["content_type"] == "application/vnd.openai.ansivid"
    assert meta["episode_id"] == 0


def test_the_schedule_can_be_chosen_or_switched_off(tmp_path: Path) -> None:
    asked = []
    env = monitored(
        tmp_path / "a", Text(), video_callable=lambda i: bool(asked.append(i)) or i == 1
    )
    for _ in range(3):
        episode(env)
    env.close()
    assert asked == [0, 1, 2]
    assert len(read(tmp_path / "a", "manifest")["videos"]) == 1
    env = monitored(tmp_path / "b", Text(), video_callable=False)
    episode(env)
    env.close()
    assert files(tmp_path / "b", "*video*") == []


def test_image_video(tmp_path: Path) -> None:
    pytest.importorskip("moviepy")
    env = monitored(tmp_path, Counter())
    episode(env)
    env.close()
    ((video, meta),) = read(tmp_path, "manifest")["videos"]
    assert video.endswith(".video000000.mp4")
    assert (tmp_path / video).read_bytes()[4:8] == b"ftyp"
    described = json.loads((tmp_path / meta).read_text())
    assert described["content_type"] == "video/mp4"
    assert described["encoder_version"]["fps"] == 10


class TestVideoRecorder:
    def test_path_must_fit_the_kind(self, tmp_path: Path) -> None:
        with pytest.raises(error.Error, match=r"file extension \.json"):
            VideoRecorder(Text(), path=tmp_path / "a.mp4")
        with pytest.raises(error.Error, match="at most one"):
            VideoRecorder(Text(), path=tmp_path / "a.json", base_path=tmp_path / "a")

    def test_nothing_recorded_is_marked_empty(self, tmp_path: Path) -> None:
        recorder = VideoRecorder(Text(), path=str(tmp_path / "a.json"))
        recorder.close()
        recorder.close()
        assert not (tmp_path / "a.json").exists()
        assert json.loads((tmp_path / "a.meta.json").read_text())["empty"] is True

    def test_without_frames_it_is_broken(self, tmp_path: Path) -> None:
        env = Text()
        env.render = lambda mode: None  # type: ignore[method-assign, assignment]
        recorder = VideoRecorder(env, base_path=tmp_path / "a")
        with pytest.warns(UserWarning, match="broken"):
            recorder.capture_frame()
        assert not recorder.functional
        recorder.capture_frame()
        recorder.close()
        assert json.loads((tmp_path / "a.meta.json").read_text())["broken"] is True

    def test_an_environment_that_draws_nothing_is_not_recorded(self) -> None:
        recorder = VideoRecorder(Blind())
        assert not recorder.enabled
        assert not recorder.ansi_mode
        recorder.capture_frame()
        recorder.close()

    def test_default_path_and_string_buffers(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        env = Text()
        env.render = lambda mode: StringIO("x\n")  # type: ignore[method-assign, assignment]
        recorder = VideoRecorder(env)
        assert recorder.ansi_mode
        recorder.capture_frame()
        recorder.close()
        assert json.loads(Path(recorder.path).read_text())["stdout"][0][1].endswith("x\r\n")

    @pytest.mark.parametrize(
        ("frame", "problem", "match"),
        [
            (b"x\n", error.InvalidFrame, "string or StringIO|str or StringIO"),
            ("no end", error.Error, "newline"),
            ("a\r\n", error.Error, "carriage"),
        ],
    )
    def test_bad_text(self, tmp_path: Path, frame: Any, problem: Any, match: str) -> None:
        env = Text()
        env.render = lambda mode: frame  # type: ignore[method-assign, assignment]
        with pytest.raises(problem, match=match):
            VideoRecorder(env, base_path=tmp_path / "a").capture_frame()

    @pytest.mark.parametrize(
        ("frame", "match"),
        [
            ([[1]], "np.ndarray"),
            (np.zeros((4, 4), np.uint8), "height, width"),
            (np.zeros((4, 4, 2), np.uint8), "height, width"),
            (np.zeros((4, 4, 3)), "uint8"),
            (np.zeros((4, 5, 3), np.uint8), "same shape"),
        ],
    )
    def test_bad_images(self, tmp_path: Path, frame: Any, match: str) -> None:
        env = Counter()
        frames = [np.zeros((4, 4, 3), np.uint8), frame]
        env.render = lambda mode: frames.pop(0)  # type: ignore[method-assign, assignment]
        recorder = VideoRecorder(env, base_path=tmp_path / "a")
        recorder.capture_frame()
        with pytest.raises(error.InvalidFrame, match=match):
            recorder.capture_frame()
