"""``ludus task``."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from ludus.cli.task import app
from tests.research.support import SAMPLES

run = CliRunner(env={"COLUMNS": "200", "MLGYM_TASK_CONFIG_DIR": "", "MLGYM_CONFIG_ROOT": ""}).invoke


@pytest.fixture
def folder(tmp_path):
    result = run(app, ["new", "myTask", "--folder", str(tmp_path)])
    assert result.exit_code == 0
    assert result.stdout.strip() == str(tmp_path / "my_task")
    return tmp_path / "my_task"


def test_new_twice(folder):
    result = run(app, ["new", "myTask", "--folder", str(folder.parent)])
    assert result.exit_code == 2
    assert "there already" in result.stderr


def test_check(folder):
    result = run(app, ["check", str(folder), "--no-build"])
    assert (result.exit_code, result.stdout.strip()) == (0, "myTask: 0 findings")


def test_check_findings(folder):
    (folder / "workspace" / "x").symlink_to("..")
    result = run(app, ["check", str(folder), "--no-build"])
    assert result.exit_code == 1
    assert "workspace/x: error [link-out] This link leads out, to ... Replace" in result.stdout
    (report,) = json.loads(run(app, ["check", str(folder), "--no-build", "--json"]).stdout)
    assert report["ok"] is False
    assert report["findings"][0]["rule"] == "link-out"


def test_warnings_count_if_strict(folder):
    (folder / "task.yaml").chmod(0o666)
    assert run(app, ["check", str(folder), "--no-build"]).exit_code == 0
    assert run(app, ["check", str(folder), "--no-build", "--strict"]).exit_code == 1


def test_check_nothing():
    result = run(app, ["check", "noSuchTask"])
    assert result.exit_code == 2
    assert "There is no task 'noSuchTask'" in result.stderr


def test_list(folder):
    (folder / "task.yaml").write_text("id: [\n")
    mine = {"MLGYM_TASK_CONFIG_DIR": f"{SAMPLES}:{folder.parent}"}
    result = run(app, ["list"], env=mine)
    assert result.exit_code == 1
    assert "Guess the number" in result.stdout
    assert "task.yaml, line 2" in result.stderr
    only = {"MLGYM_TASK_CONFIG_DIR": str(SAMPLES)}
    assert "guessNumber" in run(app, ["list", "--ids"], env=only).stdout.splitlines()
    rows = json.loads(run(app, ["list", "--json"], env=only).stdout)
    assert "guessNumber" in [row["id"] for row in rows]


def test_text_of_a_task_cannot_steer_the_terminal(folder):
    text = (folder / "task.yaml").read_text()
    (folder / "task.yaml").write_text(text.replace('"My task"', '"[red]x\\e[31m"'))
    shown = run(app, ["list"], env={"MLGYM_TASK_CONFIG_DIR": str(folder.parent)}).stdout
    assert "[red]x\\x1b[31m" in shown


def test_the_image_of_a_task(folder, tmp_path):
    """Described, and written down to be built; nothing is built or downloaded."""
    result = run(app, ["image", str(folder)])
    assert result.exit_code == 0
    assert "myTask names no image" in result.stdout
    result = run(app, ["image", str(folder), "--out", str(tmp_path / "image")])
    assert result.exit_code == 0
    tag = "localhost/ludus-task-mytask:1"
    assert f"Build it: podman build --tag {tag} {tmp_path / 'image'}" in result.stdout
    assert f"image: {tag}" in result.stdout
    assert (tmp_path / "image" / "Containerfile").read_text().count("FROM python:") == 1
    result = run(app, ["image", str(folder), "--out", str(tmp_path / "image")])
    assert result.exit_code == 2
    assert "is not empty" in result.stderr
    result = run(app, ["image", str(folder), "--base", "--privileged"])
    assert result.exit_code == 2


def test_an_image_that_is_not_here(folder):
    with (folder / "task.yaml").open("a") as file:
        file.write("image: none-such/there:1\n")
    told = json.loads(run(app, ["image", str(folder), "--json"]).stdout)
    assert told["image"] == told["tag"] == "none-such/there:1"
    assert told["here"] is None
    # Where an engine works, it says how to get it; elsewhere, that there is none.
    assert "none-such/there:1" in told["problem"]
    assert "image" in json.loads(run(app, ["show", str(folder), "--json"]).stdout)
    result = run(app, ["run", str(folder), "--backend", "bubblewrap"])
    assert result.exit_code == 2
    assert "--without-image" in result.stderr
