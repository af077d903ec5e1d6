from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ludus.cli.app import app

run = CliRunner(env={"COLUMNS": "200"}).invoke
SUITE = """\
name: small
seeds: 2
agents: [random, heuristic]
budget: {episodes: 3}
environments:
  - id: CartPole-v1
    reference: {min: 22, max: 500, source: x}
  - id: LunarLander-v99
    install: pip install moon
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(SUITE)
    return tmp_path


def test_suites_are_listed_and_shown(here):
    listed = run(app, ["bench", "list"])
    assert listed.exit_code == 0
    assert "classic" in listed.output
    assert "5 of 5" in listed.output
    shown = run(app, ["bench", "show", "classic"])
    assert (shown.exit_code, "Acrobot-v1" in shown.output) == (0, True)
    missing = run(app, ["bench", "show", "small.yaml"])
    assert missing.exit_code == 1
    assert "LunarLander-v99: not registered here; pip install moon" in missing.output


def bench(*arguments):
    return run(app, ["bench", *arguments])


def test_from_a_run_to_a_report(here):
    """Run what there is, verify, compare and report it."""
    refused = bench("run", "small.yaml", "--engine", "serial")
    assert refused.exit_code == 2
    assert "pip install moon" in refused.output
    assert not Path("runs").exists()

    options = ["--skip-missing", "--store", "s.db", "--name", "a"]
    done = bench("run", "small.yaml", "--engine", "serial", *options)
    assert done.exit_code == 0, done.output
    assert "4 units: 4 scored, 0 agent faults, 0 infrastructure faults, 0 not done." in done.output
    assert "left out: LunarLander-v99: not registered here" in done.output
    assert "2/2" in done.output
    folder = "runs/a-1"
    assert Path(folder, "bench.json").exists()

    sides = [f"{folder}@heuristic", f"{folder}@random"]
    claimed = bench("compare", *sides)
    assert claimed.exit_code == 1
    assert "--allow claimed" in claimed.output
    assert bench("compare", *sides, "--allow", "claimed").exit_code == 0

    verified = bench("verify", folder, "--store", "s.db")
    assert (verified.exit_code, verified.stdout) == (0, "4 verified, 0 claimed, 0 failed\n")
    compared = bench("compare", *sides)
    assert compared.exit_code == 0
    assert "500" in compared.output
    assert "n = 2 of 2 results" in compared.output
    several = bench("compare", folder, folder)
    assert several.exit_code == 2
    assert f"{folder}@heuristic" in several.output
    assert bench("compare", f"{folder}@nobody", folder).exit_code == 2

    reported = bench("report", folder, "--out", "report.html")
    assert reported.exit_code == 0, reported.output
    assert "LunarLander-v99" in Path("report.html").read_text()
    assert Path("report.md").exists()

    path = next(Path(folder, "results").iterdir())
    path.write_text(json.dumps({**json.loads(path.read_text()), "seed": 9}))
    forged = bench("verify", folder)
    assert forged.exit_code == 1
    assert "1 failed" in forged.output


def test_exit_codes_tell_what_happened(here):
    Path("mine.py").write_text("def act(observation):\n    return 9\n")
    options = ["--engine", "serial", "--skip-missing", "--seeds", "2", "--episodes", "1"]
    fault = bench("run", "small.yaml", "--agent", "mine:act", "--out", "a", *options)
    assert fault.exit_code == 1
    assert "2 agent faults" in fault.output
    spent = bench(
        "run", "small.yaml", "--agent", "random", "--out", "b", *options, "--max-steps", "1"
    )
    assert spent.exit_code == 4
    assert "1 not done" in spent.output
    assert "Partial results: max_steps" in spent.output
    assert "ludus bench resume b" in spent.output
    again = bench("resume", "b", "--engine", "serial")
    assert again.exit_code == 0
    assert "2 scored" in again.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "nothing"], "There is no suite 'nothing'"),
        (["run", "small.yaml", "--seeds", "a"], "--seeds takes a number"),
        (["run", "small.yaml", "--engine", "ray", "--skip-missing"], "There is no engine 'ray'"),
        (["run", "classic", "--agent", "sb3:PPO:x.zip"], "--trust-pickle"),
        (["run", "classic", "--steps", "0"], "--steps"),
        (["resume", "nowhere"], "There is no run in nowhere"),
        (["report", "nowhere"], "There is no run in nowhere"),
        (["verify", "nowhere"], "There is no run in nowhere"),
        (["show", "nothing"], "There is no suite"),
        (["references", "nothing"], "There is no suite"),
    ],
)
def test_wrong_calls(here, arguments, words):
    result = bench(*arguments)
    assert result.exit_code == 2
    assert words in result.output


def test_references_are_measured(here):
    result = bench("references", "small.yaml", "--units", "1")
    assert result.exit_code == 0
    assert "CartPole-v1" in result.output
    assert "mean over 1 units" in result.output


def test_codes_are_in_the_help():
    assert "3 if infrastructure faults remained" in " ".join(bench("run", "--help").output.split())


def test_an_interrupt_keeps_what_is_finished_and_says_how_to_go_on(here):
    Path("mine.py").write_text(
        "import time\n"
        "def act(observation):\n"
        "    time.sleep(0.05)\n"
        "    return 1\n"
    )  # fmt: skip
    arguments = ["run", "small.yaml", "--skip-missing", "--agent", "mine:act", "--workers", "1"]
    child = subprocess.Popen(
        [sys.executable, "-m", "ludus", "bench", *arguments, "--out", "run", "--seeds", "200"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while not list(Path("run").glob("results/*.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(child.pid, signal.SIGINT)
    output, _ = child.communicate(timeout=60)
    assert child.returncode == 130, output
    assert "ludus bench resume run" in output
    finished = len(list(Path("run").glob("results/*.json")))
    assert f"200 units: {finished} scored" in output
