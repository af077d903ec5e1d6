"""Episodes of bundled tasks, played without an agent.

``play(task_id, which, seed=0, backend=None, validate=False)`` returns ``(total, info)``: the sum
of all rewards, which is the final normalised score, and the last step's ``info`` (``outcome``,
``score``, ``reason``, ``normalised_score``, ``final``: the grader's details and more).

``which`` is ``"baseline"`` or ``"reference"``: the solution's folder is laid over the workspace and
its command of ``task.yaml`` is run; or a dict of files, path to bytes, that are written into the
workspace and handed in as they are. With ``validate`` the work is validated before it is submitted;
the validation's score is then ``info["validation_score"]``. ``info["run_seconds"]`` is what the
command took. A command that fails is an error of the test.

``played(task_id, which)`` is ``play`` at seed 0, once per process: tests of a file share its
result; ``which`` may be ``"null"`` here, what ``null_submission(workspace)`` of
the task's ``null.py`` returns. ``workspace_of(task_id, seed)`` is the folder of what an agent would
see. ``recorded(task_id)`` is the task's ``scores.json``.

What every task must fulfil is ``check_record(task_id)``: no findings of the linter; baseline, null
and reference score what is recorded, within the tolerance; the file agrees with ``task.yaml``.

``python -m tests.research.tasks.playing ID`` plays all three, and prints a new ``scores.json``;
set its tolerance yourself.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ludus.research import ResearchEnv, load_task
from ludus.research.data.data_cache import CachedTask
from ludus.research.data.preparation import null_submission
from ludus.research.linting import check_task

Files = Mapping[str, bytes]

# Of a tree of processes, only root can limit these.
LOOSE = {} if os.geteuid() == 0 else {"memory": None, "cpus": None}
HOME = "/workspace"


def play(
    task_id: str,
    which: str | Files,
    seed: int = 0,
    backend: str | None = None,
    *,
    validate: bool = False,
) -> tuple[float, dict[str, Any]]:
    """Play an episode; see the module's text."""
    env = ResearchEnv(task_id, backend=backend, policy=LOOSE)
    try:
        env.reset(seed=seed)
        total, began = 0.0, time.monotonic()
        if isinstance(which, str):
            env.sandbox.put(getattr(env.task, which), HOME)
            observation, reward, terminated, truncated, info = env.step(
                getattr(env.task.config.run, which)
            )
            assert not terminated, info["reason"]
            assert not truncated, info["reason"]
            assert observation["exit_code"] == 0, observation["output"]
            total += reward
        else:
            for path, data in which.items():
                env.sandbox.write_bytes(f"{HOME}/{path}", data)
        seconds = time.monotonic() - began
        score = None
        if validate:
            _, reward, _, _, info = env.step("validate")
            total += reward
            score = info["validation"]["score"]
        _, reward, terminated, _, info = env.step("submit")
        assert terminated
        return total + reward, {**info, "validation_score": score, "run_seconds": seconds}
    finally:
        env.close()


@cache
def played(task_id: str, which: str, *, validate: bool = False) -> tuple[float, dict[str, Any]]:
    """Play the baseline, the reference or, as ``"null"``, the null submission at seed 0, once."""
    files = null_submission(load_task(task_id), workspace_of(task_id)) if which == "null" else which
    return play(task_id, files, validate=validate)


def workspace_of(task_id: str, seed: int = 0) -> Path:
    """Return the folder of what an agent sees at the beginning."""
    return CachedTask.of(load_task(task_id)).prepared(seed).workspace


def recorded(task_id: str) -> dict[str, Any]:
    """Return what the task's ``scores.json`` says."""
    return json.loads(load_task(task_id).part("scores.json").read_text("utf-8"))


def check_record(task_id: str, *, reference: bool = True) -> None:
    """Assert that the task is clean and that its solutions score what is recorded.

    Args:
        task_id: The task.
        reference: Whether to play the reference solution too.
    """
    assert check_task(task_id).findings == ()
    record, scale = recorded(task_id), load_task(task_id).scale
    near = {"abs": record["tolerance"], "rel": 0}
    assert scale.baseline == pytest.approx(record["baseline"], **near)
    assert scale.floor == pytest.approx(record["null"], **near)
    for which in ("baseline", "null", *(["reference"] if reference else [])):
        total, info = played(task_id, which)
        assert info["outcome"] == "scored", info["reason"]
        assert info["score"] == pytest.approx(record[which], **near), which
        assert total == pytest.approx(info["normalised_score"])
    assert scale.better(record["reference"], record["baseline"])
    assert not scale.better(record["null"], record["baseline"])


def _main(task_id: str) -> None:
    names = ("baseline", "reference", "null")
    made = {which: played(task_id, which, validate=True)[1] for which in names}
    record = {
        "seed": 0,
        "tolerance": 0.0,
        **{which: info["score"] for which, info in made.items()},
        "seconds": {
            which: round(made[which]["run_seconds"], 2) for which in ("baseline", "reference")
        },
        "validation": {which: info["validation_score"] for which, info in made.items()},
    }
    sys.stdout.write(json.dumps(record, indent=2) + "\n")
    for which, info in made.items():
        sys.stderr.write(f"{which}: {info['outcome']} {info['reason']} {info['final']}\n")


if __name__ == "__main__":
    _main(*sys.argv[1:])
