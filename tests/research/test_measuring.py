"""``ludus task check --run``: solutions are run, and compared with what a task declares."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

from ludus.cli.task import app
from ludus.errors import TaskError
from ludus.plain_yaml import YamlError, with_numbers
from ludus.research.linting.measuring import measure_task
from ludus.research.running.solving import solve
from ludus.research.task.config_file import parse_config
from ludus.research.task.scaffold import new_task
from tests.research.env_support import LOOSE
from tests.research.support import SAMPLES
from tests.sandbox.support import needs

pytestmark = needs("bubblewrap")
UNLIMITED = bool(LOOSE)


@pytest.fixture
def folder(tmp_path):
    return new_task("slopeTask", tmp_path)


def change(folder, old, new, file="task.yaml"):
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))


def measure(folder, *, fresh=0, **given):
    return measure_task(folder, fresh=fresh, unlimited=UNLIMITED, **given)


def told(measured):
    return [(found.rule, found.place) for found in measured.findings]


def test_a_new_task_declares_what_it_scores(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    measured = measure(folder.name, fresh=1)
    assert measured.findings == ()
    assert [row.solution for row in measured.solutions] == ["null", "baseline", "reference"]
    for row in measured.solutions:
        assert row.agrees
        assert row.fresh == (row.score,)  # its grader draws nothing
    assert measured.solutions[1].score == solve(folder, draws="public", unlimited=UNLIMITED).score


def test_draws_widen_the_tolerance():
    """The sample's grader draws the numbers that are to be guessed."""
    sample = SAMPLES / "guess_number"
    rows = measure_task(sample, fresh=3, unlimited=UNLIMITED).solutions
    _, baseline, _ = rows
    assert len({baseline.score, *baseline.fresh}) > 1
    assert baseline.tolerance > 1.5 * min(row.tolerance for row in rows)
    assert baseline.agrees


def test_wrong_scores_are_found_and_written(folder):
    change(folder, "baseline: 1.567 #", "baseline: 1.2 #")
    change(folder, "  reference: 0.0781 # of `run.reference`\n", "")
    before = (folder / "task.yaml").read_text()
    measured = measure(folder)
    assert told(measured) == [("wrong-score", "task.yaml:13")]
    assert "evaluation.baseline is 1.2, but the baseline solution scores 1.56745" in str(
        measured.findings[0]
    )
    assert (folder / "task.yaml").read_text() == before

    assert measure(folder, write=True).findings == ()
    after = (folder / "task.yaml").read_text()
    wanted = before.replace("1.2 #", "1.56745 #").replace(
        "floor: 1.706 # of a submission of zeros",
        "floor: 1.7055 # of a submission of zeros\n  reference: 0.0781081",
    )
    assert after == wanted


def test_scores_that_are_no_scale_are_not_written(folder):
    change(folder, "threshold: 0.1", "threshold: 1.5659")
    change(folder, "value = mean(", "value = 0.9 + 0 * mean(", "baseline/baseline.py")
    before = (folder / "task.yaml").read_text()
    with pytest.raises(TaskError, match=r"not written: .*threshold \(1\.5659\) must be lower"):
        measure(folder, write=True)
    assert (folder / "task.yaml").read_text() == before


def test_solutions_that_fail(folder):
    change(folder, "value = mean(", "value = 1 / 0 + mean(", "baseline/baseline.py")
    change(folder, "f\"{row['id']},", "f\"{row['id']}0,", "reference/solve.py")
    change(folder, "return ", "raise KeyError('x')\n    return ", "null.py")
    measured = measure(folder)
    assert told(measured)[:2] == [
        ("solution-failed", f"null.py:{_line(folder / 'null.py', 'raise KeyError')}"),
        ("solution-failed", "baseline/baseline.py:10"),
    ]
    null, baseline, reference = measured.findings
    assert "KeyError" in null.message
    assert "exit code 1" in baseline.message
    assert "ZeroDivisionError" in baseline.message
    assert reference.place == "task.yaml:23"
    assert "agent fault" in reference.message
    assert "values of id that do not exist" in reference.message
    assert [row.score for row in measured.solutions] == [None, None, None]


def test_a_grader_that_fails_is_placed(folder):
    change(folder, "    error = float(", "    error = 1 / 0 + float(", "grader/grade.py")
    measured = measure(folder)
    places = {found.place for found in measured.findings}
    assert places == {f"grader/grade.py:{_line(folder / 'grader/grade.py', '1 / 0')}"}


def test_solutions_in_the_wrong_order(folder):
    change(folder, "value = mean(", "value = 9 + mean(", "baseline/baseline.py")
    assert told(measure(folder)) == [
        ("wrong-score", "task.yaml:13"),
        ("score-order", "task.yaml:9"),
    ]


def test_data_that_is_not_here(folder):
    (folder / "data.py").write_text(
        "from ludus.errors import DataMissing\n"
        "def build(folder, seed):\n    raise DataMissing('run: fetch it')\n"
    )
    assert told(measure(folder)) == [("data-missing", "data.py")]


def test_the_command(folder):
    change(folder, "baseline: 1.567 #", "baseline: 1.2 #")
    run = CliRunner(env={"COLUMNS": "80"}).invoke
    how = ["check", str(folder), "--no-build", "--run", *(["--unlimited"] if UNLIMITED else [])]
    result = run(app, how)
    assert result.exit_code == 1
    assert "task.yaml:13: error [wrong-score]" in result.stdout
    table = result.stdout.partition("solution  ")[2]
    assert re.search(r"baseline +1\.56745 +1\.567 +1\.2 +0\.02\d+ +no", table)
    assert max(map(len, table.splitlines())) <= 80
    (report,) = json.loads(run(app, [*how, "--write", "--json"]).stdout)
    assert report["ok"]
    assert [row["agrees"] for row in report["measured"]] == [True, True, True]
    assert run(app, ["check", str(folder), "--write"]).exit_code == 2
    no_sandbox = run(app, ["check", str(folder), "--no-build", "--run", "--backend", "process"])
    assert (no_sandbox.exit_code, no_sandbox.stdout) == (3, "")


YAML = "a: 1 # one\nb:\n  x: 1.5 # why\n  y: 2\n\n# the end\nc: {x: 1}\n"


@pytest.mark.parametrize(
    ("text", "path", "numbers", "wanted"),
    [
        (YAML, "b", {"x": 2.0}, YAML.replace("1.5", "2.0")),
        (YAML, "b", {"z": 3e-7}, YAML.replace("y: 2\n", "y: 2\n  z: 3.0e-07\n")),
        (YAML, "c", {"z": -1.0, "x": 5.5}, YAML.replace("{x: 1}", "{x: 5.5, z: -1.0}")),
        ("b:\n  x: 1", "b", {"y": 2.0}, "b:\n  x: 1\n  y: 2.0"),
        ("b:\n  x: >\n    long\n\nc: 1\n", "b", {"y": 2.0}, None),
    ],
)
def test_only_the_numbers_of_a_file_change(text, path, numbers, wanted):
    changed = with_numbers(text, [path], numbers)
    assert changed == (wanted or "b:\n  x: >\n    long\n\n  y: 2.0\nc: 1\n")


@pytest.mark.parametrize("text", ["a: 1\n", "b: 1\n", "b: {}\n", "b: {y: &n 1, x: *n}\n"])
def test_files_whose_numbers_cannot_be_changed(text):
    with pytest.raises(YamlError):
        with_numbers(text, ["b"], {"x": 2.0})


def test_the_score_of_the_reference_changes_no_reward(folder):
    text = (folder / "task.yaml").read_text()
    other = text.replace("reference: 0.0781", "reference: 0.01")
    assert parse_config(text, "x").evaluation.scale == parse_config(other, "x").evaluation.scale


def _line(file, words):
    return next(
        number for number, line in enumerate(file.read_text().splitlines(), 1) if words in line
    )
