"""Imported tasks: mapping, grading, and attacks that must end at the floor."""

from __future__ import annotations

import json
import os

import pytest
from typer.testing import CliRunner

from ludus.cli.task import app
from ludus.errors import TaskError
from ludus.research.data.data_cache import CachedTask
from ludus.research.grading.artefacts import Artefacts
from ludus.research.grading.grading import grade
from ludus.research.grading.limits import GradingLimits
from ludus.research.importing import ImportOptions, import_task
from ludus.research.importing.inside.harbor import read_reward
from ludus.research.importing.leaderboard import read_leaderboard
from ludus.research.linting import check_task
from ludus.research.running.solving import solve
from ludus.research.task.discovery import load_task
from ludus.sandbox import backends

sandboxed = pytest.mark.skipif(backends()["bubblewrap"] is not None, reason="needs bubblewrap")
UNLIMITED = os.geteuid() != 0
LIMITS = GradingLimits(memory=None, cpus=None) if UNLIMITED else GradingLimits()
run = CliRunner(env={"COLUMNS": "80", "MLGYM_TASK_CONFIG_DIR": ""}).invoke

TOML = """\
schema_version = "1.4"
artifacts = ["/app/result.txt"]
[task]
name = "lab/add-up"
description = "Add up"
[agent]
timeout_sec = 60.0
[verifier]
timeout_sec = 60.0
environment_mode = "separate"
[environment]
cpus = 1
memory_mb = 512
storage_mb = 64
workdir = "/app"
network_mode = "no-network"
"""
TEST_SH = """\
#!/bin/bash
apt-get update && apt-get install -y curl
curl -LsSf https://example.org/install.sh | sh
source $HOME/.local/bin/env
uvx --with pytest==8.4.1 pytest --ctrf /logs/verifier/ctrf.json /tests/test_outputs.py -rA
if [ $? -eq 0 ]; then echo 1 > /logs/verifier/reward.txt
else echo 0 > /logs/verifier/reward.txt; fi
"""
TEST_PY = """\
from pathlib import Path

def test_sum():
    numbers = Path("/app/numbers.txt").read_text().split()
    assert int(Path("/app/result.txt").read_text()) == sum(map(int, numbers))
"""


@pytest.fixture
def harbor(tmp_path):
    source = tmp_path / "source"
    for name, text in {
        "task.toml": TOML,
        "instruction.md": "Add the numbers of /app/numbers.txt and write /app/result.txt.\n",
        "environment/Dockerfile": "FROM python:3.11\nWORKDIR /app\nCOPY numbers.txt /app/\n",
        "environment/numbers.txt": "1 2 39\n",
        "tests/test.sh": TEST_SH,
        "tests/test_outputs.py": TEST_PY,
        "solution/solve.sh": "cd /app && echo 42 > result.txt\n",
    }.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    return source


@pytest.fixture
def competition(tmp_path):
    source = tmp_path / "my-data"
    for name, text in {
        "config.yaml": (
            "id: my-data\nname: My data\ndescription: description.md\n"
            "dataset: {answers: my-data/prepared/private/test.csv, sample_submission: "
            "my-data/prepared/public/sample_submission.csv}\n"
            "grader: {name: mae, grade_fn: 'mlebench.competitions.my-data.grade:grade'}\n"
            "preparer: mlebench.competitions.my-data.prepare:prepare\n"
        ),
        "description.md": "Predict y.\n",
        "leaderboard.csv": "team,score\n" + "".join(f"t{i},{i / 10}\n" for i in range(1, 31)),
        "prepare.py": (
            "import pandas as pd\n"
            "def prepare(raw, public, private):\n"
            "    t = pd.read_csv(raw / 'all.csv')\n"
            "    t[:20].to_csv(public / 'train.csv', index=False)\n"
            "    t[20:][['id', 'y']].to_csv(private / 'test.csv', index=False)\n"
            "    t[20:].drop(columns='y').to_csv(public / 'test.csv', index=False)\n"
            "    t[20:][['id']].assign(y=0.0).to_csv(\n"
            "        public / 'sample_submission.csv', index=False)\n"
        ),
        "grade.py": (
            "from mlebench.grade_helpers import InvalidSubmissionError\n"
            "def grade(submission, answers):\n"
            "    if list(submission.columns) != ['id', 'y']:\n"
            "        raise InvalidSubmissionError('columns')\n"
            "    both = submission.merge(answers, on='id')\n"
            "    return (both.y_x - both.y_y).abs().mean()\n"
        ),
    }.items():
        source.mkdir(exist_ok=True)
        (source / name).write_text(text)
    raw = tmp_path / "raw"
    raw.mkdir()
    rows = "".join(f"{i},{i % 7},{(i * i * 37 + i * 11) % 101 + 0.25}\n" for i in range(30))
    (raw / "all.csv").write_text("id,x,y\n" + rows)
    return source, raw


def graded(folder, files):
    task = CachedTask.of(load_task(folder))
    return grade(task, Artefacts(files), "test", 0, limits=LIMITS)


def counted(folder, command):
    """What a command in the agent's sandbox scores; the outcome and the number that counts."""
    found = solve(folder, folder / "workspace", command=command, unlimited=UNLIMITED)
    return found.outcome, found.task.scale.counted(found.outcome, found.score)


@sandboxed
def test_harbor_task_is_accepted_and_graded(harbor, tmp_path):
    report = import_task(harbor, tmp_path / "made", format="harbor")
    assert report.id == "add-up"
    assert [f for f in check_task(tmp_path / "made").findings if f.severity == "error"] == []
    found = solve(tmp_path / "made", "reference", unlimited=UNLIMITED)
    assert (found.outcome, found.score) == ("scored", 1.0), found.reason
    found = solve(tmp_path / "made", "baseline", unlimited=UNLIMITED)
    assert (found.outcome, found.score) == ("scored", 0.0), found.reason


FORGE = "mkdir -p /tmp/logs/verifier /tmp/tests; echo 1 > /tmp/logs/verifier/reward.txt; "
PASS = "'import _pytest.runner; import os; os._exit(0)'"


@sandboxed
@pytest.mark.parametrize(
    "attack",
    [
        FORGE + "mkdir -p logs/verifier; echo 1 > logs/verifier/reward.txt; echo 0 > result.txt",
        f"printf {PASS} > conftest.py; echo 0 > result.txt",
        "printf 'import os; os._exit(0)' | tee sitecustomize.py usercustomize.py pytest.py >"
        " /dev/null; echo 0 > result.txt",
        "ln -s /tmp/logs logs; ln -s /workspace/numbers.txt result.txt",
        "(while true; do mkdir -p /tmp/logs/verifier; echo 1 > /tmp/logs/verifier/reward.txt; "
        "done) & setsid sleep 60 & echo 0 > result.txt",
        "echo 3 > numbers.txt; echo 3 > result.txt",
    ],
    ids=["reward", "conftest", "sitecustomize", "links", "daemon", "inputs"],
)
def test_attacks_on_a_harbor_task_end_at_the_floor(harbor, tmp_path, attack):
    import_task(harbor, tmp_path / "made", format="harbor")
    outcome, number = counted(tmp_path / "made", attack)
    assert outcome in ("scored", "agent_fault")
    assert number == 0.0


@pytest.mark.parametrize(
    "text", ["2", "-1", "nan", "inf", "true", "", "[1]", "1" * 70_000], ids=lambda text: text[:4]
)
def test_rewards_are_checked(tmp_path, text):
    logs = tmp_path / "logs" / "verifier"
    logs.mkdir(parents=True)
    (logs / "reward.txt").write_text(text)
    with pytest.raises((ValueError, OSError)):
        read_reward(logs, 0, 1)
    (logs / "reward.txt").write_text("0.5\n")
    assert read_reward(logs, 0, 1)[0] == 0.5
    (logs / "reward.json").symlink_to(logs / "reward.txt")
    with pytest.raises(OSError, match="symbolic"):
        read_reward(logs, 0, 1)


def test_programs_are_not_run_beside_tests_unasked(harbor, tmp_path):
    with pytest.raises(TaskError, match="is a program"):
        import_task(
            harbor, tmp_path / "made", format="harbor", options=ImportOptions(submit=("a.py",))
        )
    assert not (tmp_path / "made").exists()


def test_links_in_a_source_are_refused(harbor, tmp_path):
    (harbor / "environment" / "numbers.txt").unlink()
    (harbor / "environment" / "numbers.txt").symlink_to("/etc/passwd")
    with pytest.raises(TaskError, match="neither a file nor a folder"):
        import_task(harbor, tmp_path / "made", format="harbor")


@sandboxed
def test_competition_is_accepted_and_graded(competition, tmp_path):
    source, raw = competition
    made = tmp_path / "made"
    import_task(source, made, format="mle-bench", options=ImportOptions(data=raw))
    assert [f for f in check_task(made).findings if f.severity == "error"] == []
    assert load_task(made).config.evaluation.direction == "lower"
    answers = "\n".join((raw / "all.csv").read_text().splitlines()[21:])
    perfect = "id,y\n" + "".join(
        f"{line.split(',')[0]},{line.split(',')[2]}\n" for line in answers.splitlines()
    )
    assert graded(made, {"submission.csv": perfect.encode()}).score == 0.0
    found = solve(made, "baseline", unlimited=UNLIMITED)
    assert found.outcome == "scored"
    assert found.score > 0
    lucky = perfect.splitlines()[1]
    for bad in (f"id,y\n{lucky}\n{lucky}\n", "a,b\n1,2\n", ""):
        outcome = graded(made, {"submission.csv": bad.encode()})
        assert outcome.kind == "agent_fault", outcome


@sandboxed
def test_imported_programs_stay_in_sandboxes(competition, tmp_path):
    source, raw = competition
    mark = tmp_path / "mark"
    evil = f"import pathlib\ntry:\n    pathlib.Path({str(mark)!r}).touch()\nexcept OSError: pass\n"
    for name in ("prepare.py", "grade.py"):
        (source / name).write_text(evil + (source / name).read_text())
    made = tmp_path / "made"
    import_task(source, made, format="mle-bench", options=ImportOptions(data=raw))
    tmp_path.chmod(0o777)
    assert solve(made, "baseline", unlimited=UNLIMITED).outcome == "scored"
    assert not mark.exists()


def test_medals():
    board = read_leaderboard("score\n" + "".join(f"{i}\n" for i in range(1000, 0, -1)))
    assert board.direction == "higher"
    assert board.medals() == {"gold": 989.0, "silver": 951.0, "bronze": 901.0}


def test_command(harbor, tmp_path):
    result = run(app, ["import", str(harbor), "--from", "harbor", "--out", str(tmp_path / "a")])
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    again = ["import", str(harbor), "--from", "harbor", "--out", str(tmp_path / "a")]
    assert run(app, again).exit_code == 2
    again[-1] = str(tmp_path / "b")
    assert json.loads(run(app, [*again, "--json"]).stdout)["id"] == "add-up"
    again[3] = "other"
    assert run(app, again).exit_code == 2
