"""``ludus leaderboard``."""

from __future__ import annotations

import json

import pytest
from rich.console import Console
from typer.testing import CliRunner

from ludus.bench.store import open_store
from ludus.cli.app import app
from ludus.record import own_key
from tests.bench.stating import some_key, stated
from tests.bench.store.support import HEAD, make_result

run = CliRunner(env={"COLUMNS": "200"}).invoke


@pytest.fixture
def path(tmp_path):
    with open_store(tmp_path / "a.sqlite") as store:
        good = make_result(id="1", agent="good", score=400.0, verified="verified")
        store.add(
            [
                good,
                make_result(id="2", agent="[red]bad[/]\x1b[2J", score=20.0, head=HEAD),
                make_result(id="3", agent="bad", outcome="agent_fault", suite="another"),
            ]
        )
        store.add_statements(stated([good], own_key()))
    return tmp_path / "a.sqlite"


def test_a_board_per_suite(path):
    result = run(app, ["leaderboard", "--store", str(path)])
    assert result.exit_code == 0, result.output
    for words in ("classic dddddddd", "another", "good", "mean rank", "CartPole-v1", "✓ 1/1"):
        assert words in result.output
    assert "400 (n=1)" in result.output
    assert "2 agents, 2 results, 1 tasks" in result.output


def test_many_tasks_and_agents_stay_readable(tmp_path, monkeypatch):
    with open_store(tmp_path / "a.sqlite") as store:
        store.add(
            make_result(id=f"{agent} {env}", agent=f"agent-{agent}", env=f"Env{env}-v0")
            for agent in range(12)
            for env in range(30)
        )
    monkeypatch.setattr("ludus.cli.leaderboard.out", Console(width=80))
    output = run(app, ["leaderboard", "--store", str(tmp_path / "a.sqlite")]).output
    assert all(f"agent-{agent} " in output for agent in range(12))
    assert all(f"Env{env}-v0 " in output for env in range(30))
    assert "Means of the first 2 agents; --json has all." in output


def test_names_are_text_and_nothing_else(path):
    output = run(app, ["leaderboard", "--store", str(path)]).output
    assert "[red]bad[/]" in output
    assert "\x1b[2J" not in output


def test_one_suite_and_verified_results(path):
    result = run(app, ["leaderboard", "--store", str(path), "--suite", "classic", "--verified"])
    assert result.exit_code == 0
    assert "good" in result.output
    assert "bad" not in result.output
    assert "1 results are left out" in result.output


def test_statements_of_others_count_if_they_are_trusted(path):
    bad = make_result(id="2", agent="[red]bad[/]\x1b[2J", score=20.0, verified="verified")
    with open_store(path) as store:
        store.add_statements(stated([bad], some_key("bob")))
    command = ["leaderboard", "--store", str(path), "--suite", "classic", "--verified"]
    assert "bad" not in run(app, command).output
    assert "bad" in run(app, [*command, "--trust", some_key("bob").public.hex]).output


def test_json(path):
    result = run(app, ["leaderboard", "--store", str(path), "--json", "--limit", "1"])
    another, classic = json.loads(result.output)
    assert another["rows"][0]["agent_faults"] == 1
    assert [row["agent"] for row in classic["rows"]] == ["good"]
    assert (classic["agents"], classic["ranked_by"]) == (2, "mean rank")


def test_the_store_of_the_environment(path, monkeypatch):
    monkeypatch.setenv("LUDUS_STORE", f"sqlite:///{path}")
    assert "good" in run(app, ["leaderboard"]).output


def test_what_is_not_there(path, tmp_path, monkeypatch):
    result = run(app, ["leaderboard", "--store", str(path), "--suite", "nothing"])
    assert result.exit_code == 1
    assert "no results of suite 'nothing'" in result.output
    result = run(app, ["leaderboard", "--store", str(tmp_path / "missing")])
    assert result.exit_code == 2
    assert "there is no store here" in result.output
    assert not (tmp_path / "missing").exists()
    url = f"postgresql://u:s3cret@/db?host={tmp_path}"
    result = run(app, ["leaderboard", "--store", url])
    assert result.exit_code == 2
    assert "s3cret" not in result.output
