"""Solutions, run and graded without an agent; and the demonstration."""

from __future__ import annotations

import pytest

from ludus.errors import ResearchError, SandboxUnavailable
from ludus.record import verify
from ludus.research.running import demo
from ludus.research.running.solving import solve
from tests.research.running.support import GUESS, UNLIMITED, answers


def test_solutions_of_a_task():
    reference = solve(GUESS, "reference", validate=True, seed=2, unlimited=UNLIMITED)
    assert reference.outcome == "scored"
    assert reference.normalised > 1
    assert reference.validation < 6
    assert (reference.exit_code, reference.details) == (0, {"games": 20})
    assert reference.grade_seconds > 0
    baseline = solve(GUESS, unlimited=UNLIMITED)
    assert baseline.score > reference.score
    assert baseline.validation is None


def test_a_folder_and_a_command(tmp_path):
    task = answers(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "half.json").write_text('{"answer": 0.5}')
    found = solve(task, tmp_path / "mine", command="cp half.json answer.json", unlimited=UNLIMITED)
    assert (found.outcome, found.score, found.normalised) == ("scored", 0.5, 0.0)
    found = solve(task, tmp_path / "mine", command="rm *; false", unlimited=UNLIMITED)
    assert (found.outcome, found.exit_code, found.score) == ("agent_fault", 1, None)
    with pytest.raises(ResearchError, match="There is no folder"):
        solve(task, tmp_path / "yours")
    with pytest.raises(ResearchError, match="has no baseline solution"):
        solve(task)


def test_the_demonstration(tmp_path):
    pytest.importorskip("openai")
    found = demo.research_episode(tmp_path / "demo")
    assert [row[1] for row in found.rows][-2:] == ["validate", "submit"]
    assert found.rows[2][2].startswith("+1.0")
    assert "normalised 1.0" in found.summary
    assert not verify(found.record).failed


def test_the_demonstration_says_why_there_is_none(tmp_path, monkeypatch):
    def none(*args, **options):
        raise SandboxUnavailable("bubblewrap is not installed")

    monkeypatch.setattr(demo, "open_sandbox", none)
    with pytest.raises(demo.DemoSkipped, match=r"no sandbox that isolates .* not installed"):
        demo.research_episode(tmp_path / "demo")
    assert not (tmp_path / "demo").exists()
