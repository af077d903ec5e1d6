from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ludus
from ludus.cli.app import app
from ludus.errors import RecordError
from ludus.record import Run, generate_key, verify
from ludus.record.episodes.record_episodes import RecordEpisodes

NAMES = [
    "manifest",
    "chain",
    "blocks",
    "files",
    "closed",
    "signature",
    "spec",
    "source",
    "replay",
    "results",
]


def record(path: Path, *, key: object = None) -> Path:
    with RecordEpisodes(ludus.make("CartPole-v1", max_episode_steps=4), path, key=key) as env:
        env.reset(seed=0)
        for _ in range(4):
            env.step(0)
        env.add_result("mean_return", 4.0, episodes=1)
    return path


def test_every_check_has_an_answer(tmp_path: Path) -> None:
    found = verify(record(tmp_path / "run"))
    assert [check.name for check in found.checks] == NAMES
    assert found.verdict == "passed"
    assert found["replay"].detail == "4 rows came out the same, bit for bit"
    assert found["results"].detail == "1 claims follow from the rows"
    assert found.to_dict()["verdict"] == "passed"
    assert json.loads(json.dumps(found.to_dict()))["checks"][0]["name"] == "manifest"


def test_without_replay(tmp_path: Path) -> None:
    found = verify(record(tmp_path / "run"), replay=False)
    assert found.passed
    assert found["replay"].status == "skipped"


def test_an_interrupted_run_passes_and_says_so(tmp_path: Path) -> None:
    env = RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run")
    env.reset(seed=0)
    env.step(0)
    env._end("interrupted")
    found = verify(tmp_path / "run")
    assert found.passed
    assert found["closed"].detail == "interrupted"


def test_an_empty_recording(tmp_path: Path) -> None:
    RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run").close()
    assert verify(tmp_path / "run").passed


def test_a_run_of_another_kind_cannot_be_checked_to_the_end(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", kind="notes", subject={}) as run:
        run.append("result", {"metric": "mean_return", "value": 1.0})
    found = verify(tmp_path / "run")
    assert found.verdict == "unchecked"
    assert {check.name for check in found.checks if check.status == "skipped"} >= {
        "replay",
        "results",
    }


def test_no_run(tmp_path: Path) -> None:
    with pytest.raises(RecordError):
        verify(tmp_path / "nothing")


def test_the_command(tmp_path: Path) -> None:
    path = record(tmp_path / "run")
    done = CliRunner().invoke(app, ["verify", str(path)])
    assert done.exit_code == 0
    assert "verdict: passed" in done.output
    assert all(name in done.output for name in NAMES)
    done = CliRunner().invoke(app, ["verify", str(path), "--json", "--no-replay"])
    assert done.exit_code == 0
    assert json.loads(done.output)["verdict"] == "passed"
    assert CliRunner().invoke(app, ["verify", str(path), "--require-signature"]).exit_code == 1
    assert CliRunner().invoke(app, ["verify", str(tmp_path / "no")]).exit_code == 2


def test_the_command_with_keys(tmp_path: Path) -> None:
    generate_key(tmp_path / "mine")
    key = generate_key(tmp_path / "other")
    path = record(tmp_path / "run", key=key)
    words = ["verify", str(path), "--key"]
    assert CliRunner().invoke(app, [*words, str(tmp_path / "other.pub")]).exit_code == 0
    assert CliRunner().invoke(app, [*words, key.public.hex]).exit_code == 0
    assert CliRunner().invoke(app, [*words, str(tmp_path / "mine.pub")]).exit_code == 1
    both = [*words, str(tmp_path / "mine.pub"), "--key", str(tmp_path / "other.pub")]
    assert CliRunner().invoke(app, both).exit_code == 0
    assert CliRunner().invoke(app, [*words, str(tmp_path / "missing.pub")]).exit_code == 2


def test_the_command_for_what_cannot_be_checked(tmp_path: Path) -> None:
    Run.create(tmp_path / "run", kind="notes", subject={}).close()
    assert CliRunner().invoke(app, ["verify", str(tmp_path / "run")]).exit_code == 2
