"""Episodes to be run, killed and compared."""

from __future__ import annotations

import json
import os
import signal
import traceback
from pathlib import Path

from ludus.bench import RunSettings
from ludus.record import read_run
from ludus.research.running import EpisodeOptions, parse_agent, run_research
from ludus.research.task.outcome import Outcome
from tests.research.env_support import LOOSE, write_task
from tests.research.support import SAMPLES

GUESS = str(SAMPLES / "guess_number")
UNLIMITED = bool(LOOSE)
GOOD = (SAMPLES / "guess_number" / "reference" / "guess.py").read_text()

TIMES = {"cost", "measured", "seconds", "spent", "state", "waited"}
"""Fields of events that are others each time."""
_ABOUT_KILLS = {"open", "resume", "close", "fault", "note"}


def set_answer(value) -> str:
    return f"echo '{{\"answer\": {value}}}' > answer.json"


SCRIPT = [
    "x=5; f() { echo $x; }; echo y > /tmp/y",
    {"tool": "memory_write", "arguments": {"text": "hello"}},
    f"{set_answer(0.7)}; validate",
    "cat /tmp/y; f; x=6; memory_read; cd /tmp; pwd",
    f"cd; {set_answer(0.9)}; f; validate; pwd",
    "submit",
]
"""Uses everything that has to come back: files, variables, functions, notes, folder."""


def fake_grade(policy, backend):
    """Stand in for ``graded_in_sandboxes``; fast."""

    def grade(task, artefacts, split, seed, *, draw):
        try:
            value = float(json.loads(artefacts["answer.json"])["answer"])
        except (ValueError, KeyError) as problem:
            return Outcome("agent_fault", reason=f"answer.json: {problem}")
        return Outcome("scored", value - 0.1 * (split == "test"), details={"split": split})

    return grade


def write_script(path: Path, actions=SCRIPT) -> str:
    path.write_text(json.dumps(actions))
    return str(path)


def answers(folder: Path, **fields) -> str:
    return str(write_task(folder / "answers", **fields))


def options(**fields) -> EpisodeOptions:
    return EpisodeOptions(backend="bubblewrap", unlimited=UNLIMITED, **fields)


def start(task, agent, out, *, runs=1, settings=None, agent_options=None, **fields):
    spec = parse_agent(agent, agent_options or {}) if isinstance(agent, str) else agent
    return run_research(
        [task],
        [spec],
        out=out,
        runs=runs,
        options=options(**fields),
        settings=settings or RunSettings(engine="serial", backoff=0.01),
    )


def record_of(out) -> Path:
    """Return the only record of a run."""
    (path,) = (Path(out) / "records").iterdir()
    return path


def told(path) -> list:
    """Return what a record says, without times and without what tells of kills."""
    found = []
    for event in read_run(path).events:
        if event.kind in _ABOUT_KILLS:
            continue
        data = {key: value for key, value in event.data.items() if key not in TIMES}
        data = json.loads(json.dumps(data))
        data.pop("unit", None)
        for name in ("bodies", "kept", "messages"):
            # Prompts say how many seconds are left.
            data.pop(name, None)
        for name in ("model_usage", "usage"):
            # Prompts say how many seconds are left, in more or fewer digits.
            _ = data.get(name, {}).pop("prompt_tokens", 0), data.get(name, {}).pop("cost", 0)
        # A grading that was killed is done again.
        if event.kind != "grading" or not found or found[-1] != (event.kind, data):
            found.append((event.kind, data))
    return found


def task_files(folder) -> list[str]:
    """Return the tasks that a run names, for a reader who trusts them."""
    rows = json.loads(Path(folder, "research.json").read_text())["tasks"].values()
    return [row["task"] for row in rows]


def kinds(path) -> list[str]:
    return [event.kind for event in read_run(path).events]


def in_child(work) -> int:
    """Do something in a forked process; return its exit code, or minus the signal's number."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    try:
        _, status = os.waitpid(pid, 0)
    except BaseException:  # the test took too long
        os.kill(pid, signal.SIGKILL)
        raise
    return os.waitstatus_to_exitcode(status)


class Moments:
    """Counts moments, and kills the process at one of them."""

    def __init__(self, fatal=None):
        self.fatal, self.count, self.names = fatal, 0, []

    def pass_by(self, name):
        self.names.append(name)
        if self.count == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        self.count += 1

    def around(self, monkeypatch, owner, name):
        """Count a moment before and one after each call."""
        real = getattr(owner, name)

        def watched(*args, **kwargs):
            self.pass_by(f"before {name}")
            made = real(*args, **kwargs)
            self.pass_by(f"after {name}")
            return made

        monkeypatch.setattr(owner, name, watched)
