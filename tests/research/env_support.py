"""A small task, and graders that are fast because they use no boxes."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ludus.research.episode.env import ResearchEnv
from ludus.research.task.outcome import Outcome

# Of a tree of processes, only root can limit these.
LOOSE = {} if os.geteuid() == 0 else {"memory": None, "cpus": None}
SECRET = "the-labels-are-17-4-42"

TASK = """\
id: answers
name: Answers
description: Write the answer to answer.json.
max_steps: {max_steps}
timeout: 20
evaluation: {{metric: score, threshold: 1.0, direction: {direction}, baseline: 0.5, floor: 0.0}}
resources: {{memory: 256M, cpu: 1, gpu: {gpu}, disk: 16M}}
submission:
  - {{path: answer.json, kind: json, max_bytes: 1K}}
validations: {validations}
"""
DATA = """\
import random

def build(folder, seed):
    rng = random.Random(seed)
    (folder / "workspace" / "train.csv").write_text(f"{rng.random()}\\n")
    for split in ("validation", "test"):
        (folder / split / "labels.txt").write_text(f"SECRET {split} {seed} {rng.random()}\\n")
    with open(COUNT, "a") as count:
        count.write("x")
"""
GRADER = f"""\
import json
from ludus.research.grading import Score

def grade(submission, labels, seed, split):
    "{SECRET}"
    told = (labels / "labels.txt").read_text()
    answer = submission.json("answer.json")["answer"]
    return Score(float(answer), {{"labels": told, "seed": seed, "split": split}})
"""


def write_task(folder: Path, **fields) -> Path:
    """Write the task's folder and return it."""
    given = {"max_steps": 20, "direction": "higher", "gpu": 0, "validations": 3, **fields}
    for name in ("workspace", "grader", "reference"):
        (folder / name).mkdir(parents=True)
    (folder / "task.yaml").write_text(TASK.format(**given))
    data = DATA.replace("SECRET", SECRET).replace("COUNT", repr(str(folder.parent / "count")))
    (folder / "data.py").write_text(data)
    (folder / "grader" / "grade.py").write_text(GRADER)
    (folder / "reference" / "answer.json").write_text('{"answer": 1.0}')
    (folder / "workspace" / "answer.json").write_text('{"answer": 0.1}')
    return folder


class FakeGrade:
    """Scores what answer.json says; fails as often as it is told to."""

    def __init__(self, failures=0):
        self.failures, self.calls = failures, []

    def __call__(self, task, artefacts, split, seed, *, draw):
        self.calls.append((split, seed, task.labels_folder(split, seed).name))
        if self.failures:
            self.failures -= 1
            return Outcome("infrastructure_fault", reason="the grader's machine burns")
        try:
            return Outcome("scored", float(json.loads(artefacts["answer.json"])["answer"]))
        except ValueError as problem:
            return Outcome("agent_fault", reason=f"answer.json: {problem}")


def make(task, *, backend="bubblewrap", **options) -> ResearchEnv:
    """Make an environment whose limits hold for whoever runs the tests."""
    options["policy"] = {**LOOSE, **options.get("policy", {})}
    return ResearchEnv(task, backend=backend, **options)


def answer(value) -> str:
    return f"echo '{{\"answer\": {value}}}' > /workspace/answer.json"


def size_of(sandbox, name: str) -> int:
    """Return a file's size without asking the sandbox, which would stop its shells."""
    descriptor = os.open(name, os.O_RDONLY, dir_fd=sandbox._root("/workspace"))
    try:
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)
