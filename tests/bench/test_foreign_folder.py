"""Folders of runs from anybody: pipes, links, endless, huge and nested files."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from typer.testing import CliRunner

from ludus.bench.planning.suite import parse_suite
from ludus.bench.running import folder as folders
from ludus.bench.running.folder import BenchFolder
from ludus.bench.running.runner import RunSettings, run_suite
from ludus.cli.app import app
from ludus.errors import BenchError, ResearchError
from ludus.research.running.options import FILE, RunFile
from ludus.research.running.progress import standing
from tests.test_foreign_files import ODD, put

pytestmark = pytest.mark.timeout(60)
SUITE = """\
name: mine
seeds: 1
agents: [random]
budget: {episodes: 1}
environments:
  - id: CartPole-v1
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "run"
    run_suite(parse_suite(SUITE, "m"), out=path, settings=RunSettings(engine="serial"))
    return path


@pytest.fixture
def run(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "run")


def result_file(run):
    (path,) = (run / "results").glob("*.json")
    return path


def commands(run):
    """Return what each command that reads a run's folder says, and its exit code."""
    for command in ("verify", "report", "resume"):
        options = ["--engine", "serial"] if command == "resume" else []
        done = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["bench", command, str(run), *options])
        yield command, done.exit_code, done.output, done.exception


@pytest.mark.parametrize("kind", [*ODD, "outside"])
@pytest.mark.parametrize("name", ["bench.json", "result"])
def test_what_is_no_file_is_refused_by_every_command(run, kind, name):
    path = run / name if name == "bench.json" else result_file(run)
    path.unlink()
    put(path, kind)
    for command, code, output, exception in commands(run):
        assert code == 2, (command, output, exception)
        assert path.name in output
        assert isinstance(exception, SystemExit)


@pytest.mark.parametrize("kind", ["pipe", "device", "loop", "folder", "outside"])
def test_what_is_no_lock(run, kind):
    (run / "lock").unlink(missing_ok=True)
    put(run / "lock", kind)
    with pytest.raises(BenchError, match="lock"), BenchFolder.open(run).locked():
        pass


def test_a_lock_is_not_written_through_another_name(run, tmp_path):
    (run / "lock").unlink(missing_ok=True)
    (run / "lock").hardlink_to(run / "bench.json")
    with pytest.raises(BenchError, match="hard link"), BenchFolder.open(run).locked():
        pass


def test_a_folder_of_results_elsewhere_is_not_read(run, tmp_path):
    shutil.move(run / "results", tmp_path / "elsewhere")
    (run / "results").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BenchError, match="symbolic links"):
        BenchFolder.open(run).results()


DAMAGE = {
    "nested": b"[" * 200_000,
    "nested objects": b'{"a":' * 200_000,
    "digits": b'{"a": ' + b"9" * 100_000 + b"}",
    "a list": b"[]",
    "a number": b"1",
    "null": b"null",
    "no text": b"\xff\xfe{}",
    "half a character": b'{"name": "\\ud800"}',
    "NaN": b'{"name": NaN}',
    "nothing": b"",
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["bench.json", "result"])
def test_damaged_json_is_told(run, damage, name):
    path = run / name if name == "bench.json" else result_file(run)
    path.write_bytes(DAMAGE[damage])
    for command, code, output, exception in commands(run):
        assert code == 2, (command, output, exception)
        assert isinstance(exception, SystemExit)
        assert path.name in output
        assert len(output) < 5000


def test_sizes_are_named(run, monkeypatch):
    size = result_file(run).stat().st_size
    monkeypatch.setattr(folders, "LARGEST_RESULT", 100)
    with pytest.raises(BenchError, match=rf"results/.*\.json has {size} bytes; at most 100 are"):
        BenchFolder.open(run).results()
    monkeypatch.undo()
    monkeypatch.setattr(folders, "LARGEST_RESULTS", 100)
    with pytest.raises(BenchError, match="more than 100 bytes together"):
        BenchFolder.open(run).results()
    with (run / "bench.json").open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(BenchError, match=r"bench.json has 1099511627776 bytes; at most 33554432"):
        BenchFolder.open(run)


def test_fields_of_a_result_may_be_anything(run):
    path = result_file(run)
    good = json.loads(path.read_text())
    read = set()
    for field in good:
        for value in ([], {"a": 1}, -1e308, True, None, "x\x1b[2J", 10**30):
            path.write_text(json.dumps({**good, field: value}))
            try:
                read |= {field for _ in BenchFolder.open(run).results()}
            except BenchError:
                continue
    assert {"extra", "agent"} <= read
    assert not {"id", "outcome", "budget", "created"} & read


MANY = {
    "units": lambda plan: plan.update(units=[1] * 2_000_000),
    "agents": lambda plan: plan.update(agents=[1] * 2_000_000),
    "missing": lambda plan: plan.update(missing=[1] * 2_000_000),
    "environments": lambda plan: plan["suite"].update(environments=[1] * 2_000_000),
    "seeds": lambda plan: plan["suite"].update(seeds=[-1] * 2_000_000),
    "players": lambda plan: plan["suite"].update(agents=[1] * 2_000_000),
}


@pytest.mark.parametrize("field", MANY)
def test_millions_of_wrong_entries_are_one_error(run, field):
    plan = json.loads((run / "bench.json").read_text())
    MANY[field](plan)
    (run / "bench.json").write_text(json.dumps(plan))
    with pytest.raises(BenchError) as caught:
        BenchFolder.open(run)
    assert len(str(caught.value)) < 3000


def test_unfinished_drafts_do_not_pile_up(run):
    unit = BenchFolder.open(run).results()[0]
    names = {one.name for one in (run / "results").iterdir()}
    (run / "results" / f".{unit.id}.json.0.draft").write_bytes(b"half")
    BenchFolder.open(run).write(unit)
    assert {one.name for one in (run / "results").iterdir()} == names


@pytest.mark.parametrize("kind", [*ODD, "outside"])
def test_runs_of_research(tmp_path, kind):
    put(tmp_path / FILE, kind)
    with pytest.raises(ResearchError, match="research"):
        RunFile.read(tmp_path)


@pytest.mark.parametrize("kind", [*ODD, "outside"])
@pytest.mark.parametrize("name", ["manifest.json", "events.jsonl"])
def test_how_far_an_episode_is(tmp_path, kind, name):
    subject = {"agent": "a", "task": "t", "seed": 1, "unit": {"budget": {"max_steps": 5}}}
    now = "2026-01-01T00:00:00+00:00"
    (tmp_path / "manifest.json").write_text(json.dumps({"subject": subject, "created": now}))
    data = {"n": 2, "cost": 0.5, "spent": 1.0, "validation": None}
    step = json.dumps({"kind": "step", "time": now, "data": data})
    (tmp_path / "events.jsonl").write_text(f"{step}\n" * 3)
    assert standing(tmp_path).steps == 3
    (tmp_path / name).unlink()
    put(tmp_path / name, kind)
    found = standing(tmp_path)
    assert found is None or found.steps == 0


def test_nested_events_do_not_end_the_display(tmp_path):
    (tmp_path / "manifest.json").write_bytes(b"[" * 200_000)
    (tmp_path / "events.jsonl").write_bytes(b"")
    assert standing(tmp_path) is None


@pytest.mark.parametrize("kind", ["pipe", "device", "loop", "folder"])
def test_what_is_no_log_of_workers(run, kind):
    result_file(run).unlink()
    (run / "workers.log").unlink(missing_ok=True)
    put(run / "workers.log", kind)
    done = CliRunner().invoke(app, ["bench", "resume", str(run), "--workers", "1"])
    assert done.exit_code == 2
    assert "workers.log" in done.output


@pytest.mark.parametrize("kind", ["symbolic", "hard"])
def test_workers_write_into_no_other_file(run, tmp_path, kind):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    result_file(run).unlink()
    (run / "workers.log").unlink(missing_ok=True)
    if kind == "symbolic":
        (run / "workers.log").symlink_to(victim)
    else:
        (run / "workers.log").hardlink_to(victim)
    done = CliRunner().invoke(app, ["bench", "resume", str(run), "--workers", "1"])
    assert done.exit_code == 2
    assert victim.read_text() == "precious"


def test_drafts_with_foreseeable_names_lead_nowhere_else(run, tmp_path):
    """A link where a draft is going to be must not be written through."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    result = result_file(run).name
    numbers = [*range(4), os.getpid()]
    for folder, name in ((run, "report.html"), (run, "report.md"), (run / "results", result)):
        for number in numbers:
            (folder / f".{name}.{number}.draft").symlink_to(victim)
    assert CliRunner().invoke(app, ["bench", "report", str(run)]).exit_code == 0
    assert CliRunner().invoke(app, ["bench", "verify", str(run)]).exit_code == 0
    assert victim.read_text() == "precious"
