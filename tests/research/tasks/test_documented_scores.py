"""The commands in docs/scores.md give the scores that stand beside them."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ludus.cli.app import app
from ludus.research import load_task
from tests.research.tasks.playing import LOOSE, recorded
from tests.sampling import ALL, sampled
from tests.sandbox.support import needs

DOCS = Path(__file__).parents[3] / "docs"
ROWS = [
    (command, float(score), 0.0 if tolerance == "exact" else float(tolerance))
    for command, score, tolerance in re.findall(
        r"^\| `(ludus task run .*?)` \| (\S+) \| (\S+) \|$",
        (DOCS / "scores.md").read_text("utf-8"),
        re.MULTILINE,
    )
]
SECONDS = 1.0
"""How long the solutions of `make test` may have taken when they were recorded."""


def is_quick(row):
    seconds = recorded(task_of(row))["seconds"]
    return max(seconds.values()) < SECONDS


def task_of(row):
    return row[0].split()[3]


CHOSEN = ROWS if ALL else sampled(filter(is_quick, ROWS), 2)


def test_the_page_is_what_its_program_writes():
    spec = importlib.util.spec_from_file_location("scores", DOCS / "scores.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kept = (DOCS / "scores.md").read_text("utf-8")
    assert kept == module.page(), "Run: python docs/scores.py"


def test_the_table_of_all_tasks_has_the_recorded_scores():
    text = (DOCS / "research.md").read_text("utf-8").replace("−", "-")
    tasks = {task_of(row) for row in ROWS}
    assert len(tasks) >= 12
    for task in tasks:
        row = re.search(rf"^\| `{task}` \|.*$", text, re.MULTILINE)[0].split("|")
        null, baseline, threshold, reference = (float(cell) for cell in row[4:8])
        found = {"null": null, "baseline": baseline, "reference": reference}
        for solution, shown in found.items():
            assert shown == pytest.approx(recorded(task)[solution], rel=5e-4, abs=5e-5), task
        assert threshold == load_task(task).scale.threshold


@needs("bubblewrap", root=True)
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("row", CHOSEN, ids=lambda row: "-".join(row[0].split()[3:6:2]))
def test_the_command_gives_the_score(row, monkeypatch):
    command, score, tolerance = row
    for name in [name for name in os.environ if name.startswith(("LUDUS_RESEARCH", "MLGYM_"))]:
        monkeypatch.delenv(name)
    arguments = [*shlex.split(command)[1:], "--json", *(["--unlimited"] if LOOSE else [])]
    result = CliRunner().invoke(app, arguments)
    if "is missing. Get it from" in result.stderr:
        pytest.skip("dataset-fashion-mnist is missing")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)["score"]
    # The page has six digits.
    assert found == pytest.approx(score, rel=1e-5, abs=tolerance or 1e-9)
