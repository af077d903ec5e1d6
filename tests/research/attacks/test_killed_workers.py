"""Agents in the worker's process that bring it down, time after time."""

from __future__ import annotations

import pytest

from ludus.bench import BenchFolder, RunSettings
from ludus.research.running.verification import verify_research_run
from tests.research.grading.support import boxed
from tests.research.running.support import UNLIMITED, answers, set_answer, start, task_files

pytestmark = boxed

PROCESSES = RunSettings(engine="processes", workers=1, retries=1, backoff=0.01)
AGENT = """\
import itertools, os, pathlib, shutil, signal
RECORDS = {records!r}
def end():
    os.kill(os.getpid(), signal.SIGKILL)
class Agent:
    def __init__(self):
        {made}
        self.actions = iter([{answer!r}, "submit"])
    def act(self, observation):
        {acts}
        return next(self.actions)
"""
WAYS = {
    "when it is made": ("end()", "pass"),
    "when it acts": ("pass", "end()"),
    "with its record gone": ("pass", "[shutil.rmtree(p) for p in os.scandir(RECORDS)]; end()"),
    "with its record spoilt": (
        "pass",
        "[pathlib.Path(p, 'manifest.json').write_text('x') for p in os.scandir(RECORDS)]; end()",
    ),
    "by costs that add up to infinity": (
        "n = itertools.count(); Agent.cost = property(lambda _: 1.7e308 * (next(n) % 2))",
        "pass",
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_worker_that_the_agent_kills_is_its_fault(tmp_path, way):
    made, acts = WAYS[way]
    records = str(tmp_path / "run" / "records")
    source = AGENT.format(records=records, made=made, acts=acts, answer=set_answer(0.9))
    (tmp_path / "mine.py").write_text(source)
    agent = f"me={tmp_path / 'mine.py'}:Agent"
    (result,) = start(answers(tmp_path), agent, tmp_path / "run", settings=PROCESSES).results
    assert result.outcome == "agent_fault", result.reason
    (found,) = verify_research_run(
        BenchFolder.open(tmp_path / "run"), tasks=task_files(tmp_path / "run"), unlimited=UNLIMITED
    )
    assert found.problems == ()
