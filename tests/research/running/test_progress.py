"""What is shown of a run while it goes on."""

from __future__ import annotations

import io
import re

from rich.console import Console

from ludus.bench import RunSettings
from ludus.research.running import job as job_module
from ludus.research.running.progress import (
    EpisodeLines,
    EpisodeProgress,
    Standing,
    standing,
    standing_table,
)
from tests.research.running.support import (
    answers,
    fake_grade,
    record_of,
    set_answer,
    start,
    write_script,
)


def test_episodes_under_way_are_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(job_module, "graded_in_sandboxes", fake_grade)
    monkeypatch.setattr("ludus.research.running.progress._EVERY", 0.05)
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80, height=24)
    long = f"echo {'long ' * 20}; sleep 0.6"
    script = write_script(tmp_path / "s.yaml", [f"{set_answer(0.25)}; validate", long, "submit"])
    progress = EpisodeProgress(console, tmp_path / "run")
    start(
        answers(tmp_path), "scripted", tmp_path / "run", agent_options={"file": script},
        settings=RunSettings(engine="serial", progress=progress),
    )  # fmt: skip
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue()).replace("\r", "\n")
    lines = shown.splitlines()
    assert any("1/20" in one and "answers 0 scripted" in one for one in lines)
    (row,) = {one.rstrip() for one in lines if "echo long" in one}
    assert row.endswith("…")
    assert any("2/20" not in one and "0.25" in one and "1/20" in one for one in lines)
    drawn = [one for one in lines if "scripted on mlgym" not in one]
    assert max(map(len, drawn)) <= 80
    assert "episodes" in shown
    assert "scripted on mlgym/answers-v0, seed 0: 0.15, normalised -0.700 (3 steps" in shown
    found = standing(record_of(tmp_path / "run"))
    assert (str(found), found.steps) == ("scripted on answers, seed 0: is over", 3)
    assert (found.validation, found.action, found.cost) == (0.25, "submit", 0.0)
    assert "step 3 of 20, is over, validation 0.25" in found.line


def test_more_episodes_than_lines():
    many = [Standing("a", "t", seed, "works", 1, 9, "ls", cost=0.5) for seed in range(9)]
    screen = io.StringIO()
    Console(file=screen, width=80).print(standing_table(many, 3))
    assert "and 6 more" in screen.getvalue()
    assert max(map(len, screen.getvalue().splitlines())) <= 80


def test_what_cannot_be_told(tmp_path):
    assert standing(tmp_path) is None
    (tmp_path / "manifest.json").write_text("{}")
    assert standing(tmp_path) is None


def test_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(job_module, "graded_in_sandboxes", fake_grade)
    monkeypatch.setattr("ludus.research.running.progress._LINES_EVERY", 0.05)
    screen = io.StringIO()
    progress = EpisodeLines(Console(file=screen, width=200), tmp_path / "run")
    script = write_script(tmp_path / "s.yaml", ["rm answer.json; sleep 0.5", "submit"])
    start(
        answers(tmp_path), "scripted", tmp_path / "run", agent_options={"file": script},
        settings=RunSettings(engine="serial", progress=progress),
    )  # fmt: skip
    assert "1 episodes" in screen.getvalue()
    working = "scripted on answers, seed 0: step 0 of 20, works, "
    assert screen.getvalue().count(working) <= 1
    assert "scripted on answers, seed 0: step" in screen.getvalue()
    told = "agent fault, counts as 0, normalised -1.000: answer.json is missing"
    assert told in screen.getvalue()
