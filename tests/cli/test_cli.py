from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from ludus.cli.app import app
from ludus.cli.console import out
from ludus.version import __version__

run = CliRunner().invoke


def test_version():
    assert run(app, ["--version"]).output == f"ludus {__version__}\n"


def test_envs_lists_and_searches():
    assert "CartPole-v1" in run(app, ["envs"]).output
    result = run(app, ["envs", "pendulum torque", "--ids"])
    assert (result.exit_code, result.output) == (0, "Pendulum-v1\n")


@pytest.mark.parametrize("width", [80, 140])
def test_a_narrow_terminal_cuts_no_id_off(width, monkeypatch):
    monkeypatch.setattr(out, "_width", width)
    output = run(app, ["envs", "pole"]).output
    assert "InvertedDoublePendulum-v5 " in output
    assert max(map(len, output.splitlines())) <= width
    assert ("tags" in output) == (width == 140)
    assert "…" not in run(app, ["show", "CartPole-v1"]).output
    tasks = run(app, ["task", "list"]).output
    assert "imageClassificationCifar10 " in tasks
    assert "-0.2526 " in tasks
    assert ("Colonel Blotto" in tasks) == (width == 140)


def test_check_tells_warnings_without_places_in_other_files():
    result = run(app, ["check", "CartPole-v0"])
    assert "out of date" in result.stderr
    assert ".py" not in result.stderr
    assert any("minimum value is -infinity. This" in line for line in result.stdout.splitlines())


def test_envs_folds_a_family_of_hundreds():
    everything = run(app, ["envs"]).output
    assert "ALE/Pong-v5" not in everything
    assert (
        f"{len(run(app, ['envs', '--family', 'atari', '--ids']).output.split())} ids" in everything
    )
    assert "ALE/Pong-v5" in run(app, ["envs", "--family", "atari"]).output
    assert "ALE/Pong-v5" in run(app, ["envs", "--ids"]).output.split()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["envs", "nothing like it"], 1, "No environment matches"),
        (["envs", "--tag", "clasic"], 2, "`classic`"),
        (["show", "CartPol-v1"], 2, "`CartPole`"),
        (["check", "CartPol-v1"], 2, "`CartPole`"),
        (["check", "CartPole-v1", "--suppress", "obs-alias"], 2, "obs-aliasing"),
        (["as-gymnasium"], 2, "python train.py"),
        (["as-gymnasium", "--", "no-such-program-anywhere"], 127, "no-such-program"),
        (["nonsense"], 2, "No such command"),
    ],
)
def test_failures_have_exit_codes_and_advice(arguments, code, words):
    done = subprocess.run(
        [sys.executable, "-m", "ludus", *arguments],
        capture_output=True,
        text=True,
        env={"COLUMNS": "200", "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == code
    assert words in done.stderr


def test_show():
    shown = run(app, ["show", "CartPole-v1"]).output
    assert "security.trust" in shown
    assert "ludus view --page /envs/CartPole-v1" in shown
    spec = json.loads(run(app, ["show", "CartPole-v1", "--json"]).output)
    assert spec["max_episode_steps"] == 500


def test_check(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    result = run(app, ["check", "CartPole-v1"])
    assert result.exit_code == 0
    assert "0 errors" in result.output
    report = json.loads(run(app, ["check", "CartPole-v1", "--json"]).output)
    assert report["ok"]


def test_check_finds_what_is_broken(tmp_path, monkeypatch):
    (tmp_path / "leaky_for_cli.py").write_text(
        "import numpy as np, ludus\n"
        "class Leaky(ludus.Env):\n"
        "    observation_space = ludus.spaces.Box(0, 9, (1,))\n"
        "    action_space = ludus.spaces.Discrete(2)\n"
        "    buffer = np.zeros(1, np.float32)\n"
        "    def reset(self, *, seed=None, options=None):\n"
        "        super().reset(seed=seed)\n"
        "        return self.buffer, {}\n"
        "    def step(self, action):\n"
        "        return self.buffer, 0.0, False, False, {}\n"
        "ludus.register('Leaky-v0', Leaky)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    result = run(app, ["check", "leaky_for_cli:Leaky-v0"])
    assert result.exit_code == 1
    assert "data-reuse" in result.output


def test_as_gymnasium_runs_a_program(tmp_path):
    script = tmp_path / "program.py"
    script.write_text("import gymnasium, sys; sys.exit(7 if gymnasium.__ludus__ else 1)\n")
    done = subprocess.run(
        [sys.executable, "-m", "ludus", "as-gymnasium", "--", sys.executable, str(script)]
    )
    assert done.returncode == 7


def test_demo(tmp_path, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    done = subprocess.run(
        [sys.executable, "-m", "ludus", "demo", "--out", str(tmp_path), "--episodes", "2"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "passes the environment checks" in done.stdout
    assert "passed verification" in " ".join(done.stdout.split())
    assert list(tmp_path.glob("video/cartpole*.mp4"))
