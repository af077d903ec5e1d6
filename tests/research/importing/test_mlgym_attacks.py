"""Attacks on the import of MLGym's files: by sources of strangers, and by what is handed in."""

from __future__ import annotations

import json
import os
import shutil
import sys
from types import ModuleType

import pytest

from ludus.errors import TaskError
from ludus.research.data.data_cache import CachedTask
from ludus.research.importing import import_task, mlgym_files, source_files
from ludus.research.task.discovery import load_task
from tests.research.importing.mlgym_lab import TABLE, write_lab
from tests.research.importing.test_importing import graded, sandboxed


@pytest.fixture
def lab(tmp_path):
    return write_lab(tmp_path / "lab")


def imported(source, out):
    return import_task(source, out, format="mlgym")


def change(lab, old, new):
    assert old in TABLE
    (lab / "configs/tasks/table.yaml").write_text(TABLE.replace(old, new))
    return lab / "configs/tasks/table.yaml"


STARTER = "starter_code: [data/table/baseline.py, data/table/evaluate.py]"


def starting(lab, *names):
    return change(lab, STARTER, f"{STARTER[:-1]}, {', '.join(names)}]")


@pytest.mark.parametrize("kind", ["task", "agent"])
def test_a_file_that_came_alone_names_nothing_above_its_folder(tmp_path, kind):
    """It need only lie somewhere below a folder that has a folder 'configs', such as a home."""
    (tmp_path / "configs").mkdir()
    history = [{"role": "user", "content": "SECRET"}]
    (tmp_path / "secret.json").write_text(json.dumps({"history": history}))
    folder = tmp_path / "Downloads/new"
    write_lab(folder)
    (folder / "data/table/evaluate.py").rename(folder / "evaluate.py")
    (folder / "data/table/baseline.py").rename(folder / "baseline.py")
    text = "starter_code: [secret.json, Downloads/new/baseline.py, Downloads/new/evaluate.py]"
    text = TABLE.replace(STARTER, text)
    text = text.replace("sample_submission: data", "sample_submission: Downloads/new/data")
    text = text.replace("dataset_configs: [datasets/small.yaml]", "dataset_configs: []")
    if kind == "agent":
        text = (folder / "configs/agents/plain.yaml").read_text()
        text = text.replace("demonstrations/demo.traj", "secret.json")
    (folder / "alone.yaml").write_text(text)
    shutil.rmtree(folder / "configs")
    with pytest.raises(TaskError, match=r"secret\.json"):
        imported(folder / "alone.yaml", tmp_path / "made")
    assert not (tmp_path / "made").exists()


def holes(folder, count, size):
    folder.mkdir(parents=True)
    for number in range(count):
        with (folder / f"{number}.bin").open("wb") as file:
            file.truncate(size)


def test_a_source_of_holes_does_not_fill_the_memory(lab, tmp_path, monkeypatch):
    monkeypatch.setattr(source_files.Budget, "__init__", small_budget)
    for name in ("a", "b", "c"):
        holes(lab / f"data/{name}", 3, 1 << 20)
    with pytest.raises(TaskError, match="beyond the"):
        imported(starting(lab, "data/a", "data/b", "data/c"), tmp_path / "made")


def test_the_same_file_again_and_again(lab, tmp_path, monkeypatch):
    monkeypatch.setattr(source_files.Budget, "__init__", small_budget)
    holes(lab / "data/a", 1, 1 << 20)
    with pytest.raises(TaskError, match="beyond the"):
        imported(starting(lab, *["data/a/0.bin"] * 10), tmp_path / "made")


def small_budget(self, files=100, bytes=8 << 20):
    self.files, self.bytes = files, bytes


def test_demonstrations_again_and_again_do_not_fill_the_memory(lab, tmp_path):
    """Ten thousand times the same four megabytes."""
    long = [{"role": "user", "content": "x" * (3 << 20)}]
    (lab / "demonstrations/demo.traj").write_text(json.dumps({"history": long}))
    file = lab / "configs/agents/plain.yaml"
    names = ", ".join(["demonstrations/demo.traj"] * 10_000)
    file.write_text(file.read_text().replace("demonstrations/demo.traj", names))
    with pytest.raises(TaskError, match="beyond the"):
        imported(file, tmp_path / "made")


@pytest.mark.parametrize(
    "one", [{"role": "user", "content": {"a": 1}}, {"role": 1, "content": "a"}, {}, [], "user"]
)
def test_demonstrations_that_are_no_texts(lab, tmp_path, one):
    (lab / "demonstrations/demo.traj").write_text(json.dumps({"history": [one, one]}))
    with pytest.raises(TaskError, match="no trajectory"):
        imported(lab / "configs/agents/plain.yaml", tmp_path / "made")


def test_programs_too_large_to_be_parsed(lab, tmp_path, monkeypatch):
    """A syntax tree takes a hundred times as much memory."""
    (lab / "data/table/evaluate.py").write_text("a,a\n" * (1 << 20))
    with pytest.raises(TaskError, match="too many for a program"):
        imported(lab / "configs/tasks/table.yaml", tmp_path / "made")
    monkeypatch.setattr(mlgym_files, "_PROGRAMS", 1000)
    (lab / "data/table/evaluate.py").write_text("a,a\n" * 300)
    with pytest.raises(TaskError, match="The programs have"):
        imported(lab / "configs/tasks/table.yaml", tmp_path / "made")


@pytest.mark.parametrize("text", ["x = a" + ".b" * 100_000, "x = 1" + "+1" * 100_000,
                                  "x = " + "-" * 200_000 + "1", "x = f" + "()" * 100_000],
                         ids=lambda text: text[4:9])  # fmt: skip
def test_programs_that_are_nested_deep(lab, tmp_path, text):
    (lab / "data/table/baseline.py").write_text(text)
    assert imported(lab / "configs/tasks/table.yaml", tmp_path / "made").id == "guessTable"


def test_modules_that_no_file_holds(lab, tmp_path, monkeypatch):
    """Such as Cython's, which are there once NumPy is imported."""
    monkeypatch.setitem(sys.modules, "made_up", ModuleType("made_up"))
    (lab / "data/table/baseline.py").write_text("import made_up\nimport __main__\n")
    report = imported(lab / "configs/tasks/table.yaml", tmp_path / "made")
    assert ("packages", "not here: made_up") in {(row.field, row.detail) for row in report.rows}


def test_copies_of_the_answers_under_other_names_are_the_graders(lab, tmp_path):
    data = lab / "data/table/data"
    answers = (data / "answers.csv").read_bytes()
    (data / "old.csv").write_bytes(answers)
    (data / "windows.csv").write_bytes(answers.replace(b"\n", b"\r\n") + b"\n")
    (lab / "data/table/key.csv").write_bytes(answers.replace(b"\n", b"\r\n"))
    report = imported(starting(lab, "data/table/key.csv"), tmp_path / "made")
    assert {"key.csv"} <= {row.field for row in report.rows if row.status == "left out"}
    workspace = CachedTask.of(load_task(report.path)).prepared(0).workspace
    assert sorted(path.name for path in (workspace / "data").iterdir()) == ["test.csv", "train.csv"]
    assert not (workspace / "key.csv").exists()


@pytest.mark.parametrize("name", ["data", "data/table/data", "data/" + "x" * 300])
def test_samples_that_are_no_files(lab, tmp_path, name):
    with pytest.raises(TaskError, match="sample_submission names"):
        imported(change(lab, "data/table/sample_submission.csv", name), tmp_path / "made")


def test_names_that_are_a_file_and_a_folder(lab, tmp_path):
    for name in ("a/x", "b/x/y"):
        (lab / name).parent.mkdir(parents=True)
        (lab / name).write_text("")
    with pytest.raises(TaskError, match="a file and a folder"):
        imported(starting(lab, "a/x", "b/x"), tmp_path / "made")


@pytest.mark.parametrize("kind", ["fifo", "link", "device"])
@pytest.mark.parametrize(
    "where",
    ["configs/tasks/table.yaml", "configs/datasets/small.yaml", "data/table/evaluate.py",
     "data/table/sample_submission.csv", "data/table/data/train.csv"],
)  # fmt: skip
def test_what_is_no_plain_file_is_refused(lab, tmp_path, where, kind):
    (lab / where).unlink()
    if kind == "fifo":
        os.mkfifo(lab / where)
    else:
        (lab / where).symlink_to("/etc/passwd" if kind == "link" else "/dev/zero")
    with pytest.raises(TaskError):
        imported(lab / "configs/tasks/table.yaml", tmp_path / "made")
    assert not (tmp_path / "made").exists()


@sandboxed
def test_hard_rows_under_ids_that_there_are_not(lab, tmp_path):
    """The evaluation passes over what it does not know, and the number of rows is right."""
    folder = imported(lab / "configs/tasks/table.yaml", tmp_path / "made").path
    truth = (lab / "data/table/data/answers.csv").read_text().splitlines()
    assert graded(folder, {"submission.csv": "\n".join(truth).encode()}).score == 0.0
    forged = [truth[0], truth[1], *(f"x{number},0" for number in range(9))]
    found = graded(folder, {"submission.csv": "\n".join(forged).encode()})
    assert found.kind == "agent_fault"
    assert "has not the ids" in found.reason
