"""What others wrote, printed by every command: shown as text, never obeyed."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text
from typer.testing import CliRunner

import ludus
from ludus import cli
from ludus.bench.planning.suite import parse_suite
from ludus.bench.running.runner import RunSettings, run_suite
from ludus.bench.store import open_store
from ludus.cli import console
from ludus.cli.app import app

pytestmark = pytest.mark.timeout(60)
# Title, clearing, 8-bit sequences, writing backwards, overwriting a line; and rich's own markup.
EVIL = "\x1b]0;gotcha\x07\x1b[2J\x9b31m\u202egnp\u2066\r\x08[red]x[/red][/]:smile:"
FORBIDDEN = re.compile(
    r"[^\n\t\x20-\x7e\xa0-\u1fff\u2000-\u2027\u2030-\u205f\u2070-\uffef]|[\u202a-\u202e]"
)
SUITE = f"""\
name: mine
title: {json.dumps(EVIL)}
description: {json.dumps(EVIL)}
seeds: 1
agents: [random]
budget: {{episodes: 1}}
environments:
  - id: CartPole-v1
    reference: {{min: 0, max: 500, source: {json.dumps(EVIL)}}}
  - id: Nowhere-v0
    install: {json.dumps(EVIL)}
"""


def checked_output(*words):
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(word) for word in words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert not FORBIDDEN.search(done.output), (words, FORBIDDEN.search(done.output))
    return done.output


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("terminal") / "run"
    suite = parse_suite(SUITE, "m")
    run_suite(suite, out=path, skip_missing=True, settings=RunSettings(engine="serial"))
    return path


@pytest.fixture
def run(finished, tmp_path):
    """A run whose every free text has been replaced."""
    folder = shutil.copytree(finished, tmp_path / "run")
    plan = json.loads((folder / "bench.json").read_text())
    plan["name"] = plan["missing"][0]["reason"] = plan["missing"][0]["env"] = EVIL
    (folder / "bench.json").write_text(json.dumps(plan))
    (path,) = (folder / "results").glob("*.json")
    result = json.loads(path.read_text())
    for field, value in result.items():
        changed = {**result, field: EVIL}
        if isinstance(value, str) and field not in ("id", "outcome", "verified", "budget"):
            path.write_text(json.dumps(changed))
            if "error:" not in checked_output("bench", "report", folder):
                result = changed
    path.write_text(json.dumps(result))
    assert EVIL in result.values()
    return folder


@pytest.mark.parametrize("command", ["verify", "report", "resume", "compare"])
def test_commands_on_a_run(run, command):
    options = {"resume": ["--engine", "serial"], "compare": [run, "--allow", "seeds"]}
    assert checked_output("bench", command, run, *options.get(command, []))


def test_a_suite(tmp_path):
    (tmp_path / "mine.yaml").write_text(SUITE)
    shown = checked_output("bench", "show", tmp_path / "mine.yaml")
    assert r"\x1b]0;gotcha" in shown
    assert "[red]x[/red][/]:smile:" in shown


def test_errors_about_a_suite_and_a_task(tmp_path):
    for name, words in (("mine.yaml", ("bench", "show")), ("task.yaml", ("task", "check"))):
        (tmp_path / name).write_text(f"{json.dumps(EVIL)}: {json.dumps(EVIL)}\n")
        assert "gotcha" in checked_output(*words, tmp_path / name)


def test_a_leaderboard(run, tmp_path):
    (path,) = (run / "results").glob("*.json")
    with open_store(tmp_path / "s.db") as store:
        line = json.dumps(json.loads(path.read_text()))
        (tmp_path / "r.jsonl").write_text(line + "\n")
        store.import_jsonl(tmp_path / "r.jsonl")
    assert "gotcha" in checked_output("leaderboard", "--store", tmp_path / "s.db")


def test_records(run):
    (record,) = (run / "records").iterdir()
    (record / f"{EVIL.replace('/', '')}").write_text("")
    manifest = json.loads((record / "manifest.json").read_text())
    (record / "manifest.json").write_text(json.dumps({**manifest, "software": EVIL, EVIL: EVIL}))
    for words in (("record", "show"), ("record", "fsck"), ("replay",), ("verify",)):
        assert checked_output(*words, record)


def test_environments_of_others():
    spec = ludus.EnvSpec(
        "Evil-v0", entry_point=f"x:{EVIL}", description=EVIL, tags=(EVIL,), author=EVIL, family=EVIL
    )
    ludus.registry["Evil-v0"] = spec
    try:
        assert "gotcha" in checked_output("show", "Evil-v0")
        assert "gotcha" in checked_output("envs", "Evil-v0")
        checked_output("envs", "--family", EVIL + "y")
        listed = ludus.pprint_registry({"Evil-v0": spec}, disable_print=True)
        assert not FORBIDDEN.search(listed)
    finally:
        del ludus.registry["Evil-v0"]


def test_a_name_makes_no_line_of_its_own(finished, tmp_path):
    """A forged summary within a name is part of the line that names it."""
    folder = shutil.copytree(finished, tmp_path / "run")
    (path,) = (folder / "results").glob("*.json")
    result = json.loads(path.read_text())
    path.write_text(json.dumps({**result, "agent": "a\n9 verified, 0 unverified, 0 failed\n"}))
    lines = checked_output("bench", "verify", folder).splitlines()
    assert not any(line.startswith("9 verified") for line in lines)


def test_colours_are_the_commands_own():
    file = io.StringIO()
    one = console._Console(file=file, force_terminal=True, width=200)
    table = Table(title=EVIL)
    table.add_column(EVIL)
    table.add_row(EVIL)
    table.add_row(Text(EVIL, style="red"))
    one.print(EVIL, [EVIL], ValueError(EVIL), table)
    said = file.getvalue()
    assert "\x1b[31m" in said
    assert not FORBIDDEN.search(re.sub(r"\x1b\[[0-9;]*m", "", said))
    assert "\x1b[2J" not in said


def test_an_exception_that_nobody_catches():
    code = (
        "import ludus.cli.app, ludus.cli\n"
        f"class Evil(Exception):\n def __str__(self): return {EVIL!r}\n"
        "def app(): raise Evil\n"
        "ludus.cli.app.app = app\nludus.cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "gotcha" in done.stderr
    assert not FORBIDDEN.search(done.stderr)


def test_warnings(capsys):
    with pytest.warns(UserWarning, match="gotcha") as caught:
        ludus.logger.warn("%s", EVIL)
    assert not FORBIDDEN.search(str(caught[0].message))


@pytest.mark.parametrize(
    "path", sorted(Path(cli.__file__).parent.glob("*.py")), ids=lambda path: path.name
)
def test_commands_print_through_the_console_only(path):
    """Whatever else prints would have to escape what it prints by itself."""
    others = r"typer\.echo|click\.echo|(?<![\w.])print\(|\bConsole\(|sys\.std\w+"
    found = set(re.findall(others, path.read_text()))
    # `ludus sandbox run` hands on what its program writes, byte by byte.
    allowed = {"sandbox.py": {"sys.stdout", "sys.stderr"}, "console.py": found}
    assert found <= allowed.get(path.name, set())
