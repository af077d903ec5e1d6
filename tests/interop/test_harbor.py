from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib

import pytest

from ludus.distribution import DISTRIBUTION
from ludus.errors import GradingFailed, TaskError
from ludus.interop.harbor import export_harbor_task, verify_submission
from ludus.research.task.discovery import load_task
from ludus.research.task.outcome import Outcome
from ludus.research.task.scaffold import new_task
from ludus.version import __version__


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return load_task(new_task("nearLine", tmp_path_factory.mktemp("tasks"), name='A "line" \x7f'))


@pytest.fixture(scope="module")
def exported(task, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported") / "line"
    export_harbor_task(task, folder, seed=3, requirements=["numpy"])
    return folder


@pytest.fixture
def solved(exported, tmp_path):
    """A workspace in which the reference solution was run."""
    workspace = tmp_path / "workspace"
    shutil.copytree(exported / "environment" / "workspace", workspace)
    script = (exported / "solution" / "solve.sh").read_text()
    local = tmp_path / "solve.sh"
    local.write_text(
        script.replace("/workspace", str(workspace)).replace(
            '$(dirname "$0")', str(exported / "solution")
        )
    )
    subprocess.run(["bash", local], check=True, timeout=60)
    return workspace


def test_settings_say_what_the_task_says(task, exported):
    settings = tomllib.loads((exported / "task.toml").read_text("utf-8"))
    assert settings["schema_version"] == "1.4"
    assert settings["task"] == {"name": "ludus/nearLine", "description": task.config.name}
    assert settings["artifacts"] == [
        "/workspace/predictions/validation.csv",
        "/workspace/predictions/test.csv",
    ]
    assert settings["environment"]["memory_mb"] == 512
    assert settings["environment"]["network_mode"] == "no-network"
    assert settings["verifier"]["environment_mode"] == "separate"
    assert settings["verifier"]["environment"]["memory_mb"] == 2048
    assert task.config.description.splitlines()[0] in (exported / "instruction.md").read_text()


def test_the_agents_image_holds_neither_labels_nor_grader_nor_solutions(exported):
    inside = {path.name for path in (exported / "environment").rglob("*") if path.is_file()}
    workspace = {"README.md", "test.csv", "train.csv", "validation.csv"}
    assert inside == {"Dockerfile"} | workspace
    dockerfile = (exported / "environment" / "Dockerfile").read_text()
    assert [line for line in dockerfile.splitlines() if line.startswith("COPY")] == [
        "COPY workspace/ /workspace"
    ]
    assert (exported / "tests" / "labels" / "labels.csv").is_file()
    assert not list((exported / "tests").rglob("solve.py"))


def test_the_verifiers_image_installs_this_ludus_and_nobody_elses(exported):
    lines = (exported / "tests" / "Dockerfile").read_text().splitlines()
    wanted = f"'{DISTRIBUTION}[research]=={__version__}'"
    assert lines[1].startswith(f"RUN pip install --no-cache-dir {wanted}")


def test_a_folder_that_exists_and_a_task_without_submission_are_refused(task, exported, tmp_path):
    with pytest.raises(FileExistsError):
        export_harbor_task(task, exported)
    nothing = task.config.model_copy(update={"submission": ()})
    with pytest.raises(TaskError, match="no submission"):
        export_harbor_task(type(task)(nothing, task.file, task.folder), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_the_reference_solution_is_rewarded(exported, solved, tmp_path):
    outcome = verify_submission(exported / "tests", solved, tmp_path / "logs")
    assert outcome.kind == "scored", outcome
    rewards = json.loads((tmp_path / "logs" / "reward.json").read_text())
    assert rewards["mae"] == outcome.score < 0.1
    assert rewards["reward"] > 1


def test_files_that_are_missing_or_links_get_the_least_reward(task, exported, solved, tmp_path):
    test = solved / "predictions" / "test.csv"
    test.unlink()
    assert verify_submission(exported / "tests", solved, tmp_path / "a").kind == "agent_fault"
    test.symlink_to(exported / "tests" / "labels" / "labels.csv")
    outcome = verify_submission(exported / "tests", solved, tmp_path / "b")
    assert outcome.kind == "agent_fault"
    assert "link" in outcome.reason
    shutil.move(solved / "predictions", solved / "real")
    (solved / "predictions").symlink_to("real")
    assert verify_submission(exported / "tests", solved, tmp_path / "c").kind == "agent_fault"
    for name in "abc":
        rewards = json.loads((tmp_path / name / "reward.json").read_text())
        floor = task.config.evaluation.floor
        assert rewards == {"reward": pytest.approx(task.scale.worst), "mae": floor}


def test_a_fault_that_is_not_the_agents_writes_no_reward(exported, solved, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "ludus.interop.harbor.verifying.grade",
        lambda *a, **k: Outcome("infrastructure_fault", reason="disk full"),
    )
    with pytest.raises(GradingFailed, match="disk full"):
        verify_submission(exported / "tests", solved, tmp_path / "logs")
    assert not (tmp_path / "logs").exists()


def test_the_command_of_the_test_script_works(exported, solved, tmp_path):
    command = (exported / "tests" / "test.sh").read_text().splitlines()[1].split()
    assert command[:3] == ["exec", "python", "-m"]
    places = {"/tests": exported / "tests", "/workspace": solved, "/logs/verifier": tmp_path / "l"}
    arguments = [sys.executable, *command[2:4], *(str(places[a]) for a in command[4:])]
    subprocess.run(arguments, check=True, timeout=100, capture_output=True)
    assert json.loads((tmp_path / "l" / "reward.json").read_text())["reward"] > 1
