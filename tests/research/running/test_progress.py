"""What is shown of a run while it goes on."""

from __future__ import annotations

import io

from rich.console import Console

from ludus.bench import RunSettings
from ludus.research.running import job as job_module
from ludus.research.running.progress import EpisodeLines, EpisodeProgress, standing
from tests.research.running.support import answers, fake_grade, record_of, start, write_script


def test_episodes_under_way_are_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(job_module, "graded_in_sandboxes", fake_grade)
    monkeypatch.setattr("ludus.research.running.progress._EVERY", 0.05)
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120)
    script = write_script(tmp_path / "s.yaml", ["echo hello", "sleep 0.6", "submit"])
    progress = EpisodeProgress(console, tmp_path / "run")
    start(
        answers(tmp_path), "scripted", tmp_path / "run", agent_options={"file": script},
        settings=RunSettings(engine="serial", progress=progress),
    )  # fmt: skip
    shown = screen.getvalue()
    assert "scripted on answers, seed 0: works" in shown
    assert "episodes" in shown
    assert "scripted on mlgym/answers-v0, seed 0: 0, normalised -1.000 (3 steps" in shown
    assert "1/20" in shown
    found = standing(record_of(tmp_path / "run"))
    assert (str(found), found.steps) == ("scripted on answers, seed 0: is over", 3)


def test_what_cannot_be_told(tmp_path):
    assert standing(tmp_path) is None
    (tmp_path / "manifest.json").write_text("{}")
    assert standing(tmp_path) is None


def test_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(job_module, "graded_in_sandboxes", fake_grade)
    screen = io.StringIO()
    progress = EpisodeLines(Console(file=screen, width=200))
    script = write_script(tmp_path / "s.yaml", ["rm answer.json", "submit"])
    start(
        answers(tmp_path), "scripted", tmp_path / "run", agent_options={"file": script},
        settings=RunSettings(engine="serial", progress=progress),
    )  # fmt: skip
    assert "1 episodes" in screen.getvalue()
    told = "agent fault, counts as 0, normalised -1.000: answer.json is missing"
    assert told in screen.getvalue()
