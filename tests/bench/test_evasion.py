"""Agents that are after an infrastructure fault, by way of the worker, the runner or the trial."""

from __future__ import annotations

import pytest

from ludus.bench.planning.suite import parse_suite
from ludus.bench.running.folder import BenchFolder
from ludus.bench.running.runner import RunSettings, run_suite
from ludus.bench.verifying.verification import verify_run
from tests.bench.players import Brittle

TEXT = "name: s\nseeds: %d\nbudget: {episodes: 2%s}\nenvironments: [{id: CartPole-v1}]\n"


def played(path, agent, seeds=1, limits=""):
    settings = RunSettings(engine="processes", workers=1, backoff=0.0, retries=0)
    suite = parse_suite(TEXT % (seeds, limits), "s.yaml")
    run_suite(suite, [agent], out=path, settings=settings)
    return BenchFolder.open(path)


def agent(name, **options):
    return {"name": "a", "use": f"tests.bench.players:{name}", "options": options}


def test_an_object_that_ends_the_process_that_unpickles_it(tmp_path):
    (result,) = played(tmp_path / "run", {"name": "a", "use": Brittle()}).results()
    assert result.outcome == "agent_fault", result.reason


@pytest.mark.parametrize("changes", [{}, {"outcome": "agent_fault", "agent": "rival"}], ids=str)
def test_an_answer_in_place_of_the_workers(tmp_path, changes):
    (result,) = played(tmp_path / "run", agent("Answers", changes=changes)).results()
    assert (result.outcome, result.agent) == ("agent_fault", "a"), result.reason


def test_the_folder_of_records_as_a_file(tmp_path):
    path = tmp_path / "run"
    folder = played(path, agent("Razes", records=str(path / "records")))
    (result,) = folder.results()
    assert result.outcome == "agent_fault", result.reason
    assert [one.result.verified for one in verify_run(folder)] == ["verified"]


def test_a_process_spoilt_for_the_next_unit(tmp_path):
    found = played(tmp_path / "run", agent("Poisons"), seeds=2).results()
    assert {one.outcome for one in found} <= {"scored", "agent_fault"}, found[-1].reason


CALLS = {"a seed": {"seed": -1}, "a text": {"seed": "x"}}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_no_runner_makes(tmp_path, name):
    (result,) = played(tmp_path / "run", agent("Notes", call=CALLS[name])).results()
    assert result.outcome == "agent_fault", result.reason


def test_a_file_in_the_place_of_another_units_record(tmp_path):
    path = tmp_path / "run"
    found = played(path, agent("Plants", run=str(path)), seeds=2).results()
    assert [one.outcome for one in found] == ["scored", "scored"], found[-1].reason


@pytest.mark.parametrize("start", ["", '{"result": '])
def test_an_answer_that_is_nested_too_deep_to_be_read(tmp_path, start):
    """It would end the runner, with the units of all other agents."""
    line = start + "[" * 30_000
    (result,) = played(tmp_path / "run", agent("Writes", line=line)).results()
    assert result.outcome == "agent_fault", result.reason


def test_an_agent_that_prolongs_its_time(tmp_path):
    found = played(tmp_path / "run", agent("Prolongs"), limits=", max_seconds: 2").results()
    assert [one.reason for one in found] == ["exceeded its time of 2 s"]


def test_a_module_of_the_agents_in_the_working_directory(tmp_path, monkeypatch):
    """Workers would load it, also the one that tries the unit without the agent."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (result,) = played(tmp_path / "run", agent("Shadows")).results()
    assert result.outcome == "agent_fault", result.reason
