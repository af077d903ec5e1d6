"""What tests of tasks with predictions in CSV files share.

``built(task_id, seed, folder)`` makes a task's data. ``truth_of(folder, split)`` is the text of
the labels, which is also the perfect submission; ``grade_text(task_id, folder, text, split)`` has
the grader read a text as the predictions, without boxes. ``MALFORMED`` are changes to the lines
of a good file that no grader may accept. ``run_in_box(task_id, program)`` is what a Python program
prints in an agent's box, and ``SOURCES`` such a program.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from ludus.errors import SubmissionRejected
from ludus.research import ResearchEnv, load_task
from ludus.research.data.preparation import prepare
from ludus.research.grading import Score, Submission
from ludus.research.linting.reach import contents
from tests.research.tasks.directly import grader_of
from tests.research.tasks.playing import LOOSE

SPLITS = ("validation", "test")


def built(task_id: str, seed: int, folder: Path) -> dict[str, str]:
    """Make the data of a seed and return the digests of its files."""
    prepare(load_task(task_id), seed, folder)
    return contents(folder)


def check_seeds(task_id: str, folder: Path) -> None:
    """Assert that a seed always gives the same bytes, and another seed other data."""
    first = built(task_id, 1, folder / "a")
    assert built(task_id, 1, folder / "b") == first
    other = built(task_id, 2, folder / "c")
    same = {name for name, digest in first.items() if other[name] == digest}
    assert same == {"workspace/README.md"}


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))


def truth_of(folder: Path, split: str = "test") -> str:
    """Return the labels of a split, as a submission would say them."""
    return (folder / split / "labels.csv").read_text("utf-8")


def grade_text(task_id: str, folder: Path, text: str, split: str = "test") -> Score:
    """Return the score of predictions for a split."""
    name = f"predictions/{split}.csv"
    with TemporaryDirectory() as place:
        (Path(place) / "predictions").mkdir()
        (Path(place) / name).write_text(text, "utf-8")
        submission = Submission(Path(place), {name: "csv"}, None)
        return grader_of(task_id).grade(submission, folder / split, 0, split)


def check_truth(task_id: str, folder: Path) -> None:
    """Assert that the labels score one, in any order."""
    for split in SPLITS:
        header, *rows = truth_of(folder, split).splitlines()
        text = "\n".join([header, *reversed(rows)])
        assert grade_text(task_id, folder, text, split).value == 1


def check_malformed(task_id: str, folder: Path, change: str) -> None:
    """Assert that the grader refuses a good file that was changed, one of ``MALFORMED``."""
    rows = MALFORMED[change](truth_of(folder).splitlines())
    with pytest.raises(SubmissionRejected, match=r"predictions/test\.csv"):
        grade_text(task_id, folder, "\n".join(rows))


def check_label_refused(task_id: str, folder: Path, value: str, words: str) -> None:
    """Assert that the grader refuses a label of the first row."""
    rows = _replaced(value)(truth_of(folder).splitlines())
    with pytest.raises(SubmissionRejected, match=words):
        grade_text(task_id, folder, "\n".join(rows))


def run_in_box(task_id: str, program: str) -> Any:
    """Return the JSON that a program prints in an agent's box."""
    env = ResearchEnv(task_id, policy=LOOSE)
    try:
        env.reset(seed=0)
        observation, *_ = env.step(f"python -W ignore -c {shlex.quote(program)}")
        assert observation["exit_code"] == 0, observation["output"]
        return json.loads(observation["output"])
    finally:
        env.close()


def check_shuffle(rows: list[list[str]], seed: int) -> None:
    """Assert that who knows the seed finds rows in the order of what everybody sees, no other.

    Args:
        rows: What an agent sees of each row, in the order of their ids.
        seed: Of the data.
    """
    order = np.random.default_rng(seed).permutation(len(rows))
    before = [rows[place] for place in np.argsort(order)]
    assert before == sorted(rows)
    assert before != rows


def without(module: str) -> Callable[..., Any]:
    """Return an ``importlib.util.find_spec`` that does not find a module."""
    find_spec = importlib.util.find_spec
    return lambda name, package=None: None if name == module else find_spec(name, package)


def _replaced(value: str) -> Callable[[list[str]], list[str]]:
    return lambda rows: [rows[0], f"{rows[1].partition(',')[0]},{value}", *rows[2:]]


MALFORMED: dict[str, Callable[[list[str]], list[str]]] = {
    "a row twice": lambda rows: [*rows, rows[-1]],
    "one row for another": lambda rows: [*rows[:-1], rows[1]],
    "only one id": lambda rows: [rows[0], *[rows[1]] * (len(rows) - 1)],
    "a row missing": lambda rows: rows[:-1],
    "nothing but a header": lambda rows: rows[:1],
    "nothing": lambda rows: [],
    "an unknown id": lambda rows: [*rows[:-1], f"987654321,{rows[-1].partition(',')[2]}"],
    "an id that is no number": lambda rows: [*rows[:-1], f"x{rows[-1]}"],
    "columns swapped": lambda rows: [",".join(row.split(",")[::-1]) for row in rows],
    "a column more": lambda rows: [f"{rows[0]},score", *(f"{row},1" for row in rows[1:])],
    "no header": lambda rows: rows[1:],
    "a field missing": lambda rows: [*rows[:-1], rows[-1].partition(",")[0]],
    "nan": _replaced("nan"),
    "inf": _replaced("inf"),
    "empty": _replaced(""),
    "minus one": _replaced("-1"),
    "a huge number": _replaced("1e300"),
}
SOURCES = """
import json, os, sys
names = {names!r}
print(json.dumps([
    os.path.join(folder, file)
    for root in {{sys.prefix, sys.base_prefix, "/usr", "/ludus", "/workspace", "/tmp"}}
    for folder, _, files in os.walk(root)
    for file in files if any(name in file.lower() for name in names)
]))
"""
"""Lists the files in a box that have one of these in their names."""
