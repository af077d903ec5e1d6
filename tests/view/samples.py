"""Records that real runs make, for the pages to show; and records that are meant to do harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.bench import RunSettings
from ludus.record import Run
from ludus.research.model_server.policies import Call, Say, in_order
from ludus.research.model_server.server import ModelServer
from ludus.research.running import job as job_module
from ludus.research.running import parse_agent, run_research
from tests.research.running.support import answers, fake_grade, options, set_answer, write_script

SERIAL = RunSettings(engine="serial", backoff=0.01)
HOSTILE = [
    "<script>document.title='taken'</script>",
    "<img src=x onerror=\"document.title='taken'\">",
    '"><svg onload=alert(1)>',
    "javascript:alert(1)",
    "\x1b]8;;javascript:alert(1)\x1b\\link\x1b]8;;\x1b\\",
    "\x1b[2J\x1b[31mred\x1b[0m\x1b[?1049h",
    "\u202egnp.exe\u202c and \u200bnothing",
    "bytes \udc80\udcff",
    "\x00\x07\x08\x7f",
    "e" + "\u0301" * 40,
    "carriage\rreturn",
    "{{ 7 * 7 }} {% raw %}",
]
"""Texts that do something where they are not shown as text."""

ACTIONS = [
    "ls -la && cat train.csv",
    "printf 'import json\\nprint(1)\\n' > model.py; "
    "printf '\\033[32mok\\033[0m \\033[1;31mbad\\033[0m\\n'",
    f"{set_answer(0.6)}; validate",
    "cat missing.txt",
    "seq 1 6000",
    f"{set_answer(0.95)}; validate",
    "submit",
]
REPLIES = [
    Call("shell", {"command": "seq 3"}, "I look around first.\nThen I plan."),
    Say("I forgot to call a tool."),
    Call("shell", {"command": f"{set_answer(0.7)}"}, "A first answer."),
    Call("validate", {}, "Is it any good?"),
    Call("shell", {"command": "echo done"}),
    Call("submit", {}, "It is."),
]
PRICES = {"prices": {"m": {"input": 100, "output": 100}}}


def make_runs(folder: Path, patch: pytest.MonkeyPatch, *, seeds: int = 2) -> None:
    """Run a scripted agent and a model on one task, each in a run of its own."""
    patch.setattr(job_module, "graded_in_sandboxes", fake_grade)
    work = folder.parent / "task"
    work.mkdir()
    task = answers(work)
    script = write_script(folder.parent / "s.yaml", ACTIONS)
    spec = parse_agent("scripted", {"file": script})
    run_research(
        [task], [spec], out=folder / "first", runs=seeds, options=options(), settings=SERIAL
    )
    agent = parse_agent("react", {"model": "m", "max_retries": 0, **PRICES})
    with ModelServer(in_order(REPLIES)) as server:
        run_research(
            [task], [agent], out=folder / "deep" / "second", runs=1,
            options=options(base_url=server.base_url), settings=SERIAL,
        )  # fmt: skip


def subject(**changed) -> dict:
    """Return what a record of an episode is about."""
    return {
        "task": "answers",
        "agent": "scripted",
        "model": "",
        "seed": 0,
        "description": "Write the answer.",
        "evaluation": {"metric": "score", "direction": "higher", "baseline": 0.5, "threshold": 1.0},
        "unit": {"budget": {"max_steps": 50}},
        "options": {},
        **changed,
    }


def step(n: int, **changed) -> dict:
    """Return the data of an event ``step``."""
    return {
        "n": n, "action": "ls", "thought": "", "output": "a\n", "digest": "", "characters": 2,
        "exit_code": 0, "cwd": "/w", "reward": 0.0, "terminated": False, "truncated": False,
        "end": None, "validation": None, "graded": None, "final": None, "cost": 0.0,
        "model_usage": {}, "seconds": 0.1, "spent": 0.1 * n, "waited": 0.0, "measured": {},
        "state": None, **changed,
    }  # fmt: skip


def add_step(run: Run, n: int, *, thought: str = "", **changed) -> None:
    """Append a decision and its step to a record."""
    data = step(n, thought=thought, **changed)
    run.append(
        "act", {"n": n, "action": data["action"], "thought": thought, "cost": 0.0, "state": None}
    )
    run.append("step", data)


def make_hostile(path: Path) -> None:
    """Record an episode whose every text is meant to do harm."""
    text = "\n".join(one for one in HOSTILE if "\udc80" not in one)
    bomb = "\x1b[31m\x1b[1m" * 20_000 + "x"
    named = dict.fromkeys(("task", "agent", "model", "description"), HOSTILE[0])
    with Run.create(path, kind="research", subject=subject(**named)) as run:
        add_step(run, 0, thought=text, action=text, output=text)
        add_step(run, 1, action={"tool": HOSTILE[1], "arguments": {HOSTILE[2]: text}}, output=bomb)
        add_step(run, 2, action="line", output="y" * 1_000_000, characters=1_000_000)
        add_step(
            run, 3, cwd=text, output_file="../../secret.txt",
            changes=[
                {"path": name, "status": "added", "before": "", "after": "../../secret", "bytes": 3}
                for name in ("../../secret.txt", HOSTILE[1], "/etc/passwd")
            ],
        )  # fmt: skip
        run.add_file("artefacts/page.html", HOSTILE[0].encode())
        run.append("result", {"outcome": "agent_fault", "unit": "x", "reason": text, "value": None})
    (path / "conversation").mkdir()
    (path / "conversation" / ("0" * 64)).symlink_to("/etc/passwd")
    (path / "outputs").mkdir()
    (path / "outputs" / "1.txt").symlink_to("/etc/passwd")


def make_large(path: Path, steps: int) -> None:
    """Write a record with many steps, as fast as files can be written."""
    with Run.create(path, kind="research", subject=subject()) as run:
        for n in range(steps):
            run.append(
                "act", {"n": n, "action": f"echo {n}", "thought": "", "cost": 0.0, "state": None}
            )
            run.append(
                "step",
                step(n, action=f"echo {n}", output=f"{n}\n" * 40, exit_code=int(n % 97 == 96)),
            )
