"""Runs that are honest and must pass, and folders that make their reader pay, which must not."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from ludus.bench.planning.suite import parse_suite
from ludus.bench.running.folder import LARGEST_RESULT, BenchFolder
from ludus.bench.running.runner import RunSettings, resume_run, run_suite
from ludus.bench.store import open_store
from ludus.bench.verifying import claim
from ludus.bench.verifying.recount import most_rows
from ludus.bench.verifying.verification import planned_units, verify_run
from ludus.record import fsck, read_run, verify
from tests.record.tampering import Forgery

SERIAL = RunSettings(engine="serial", backoff=0.0, retries=0)
SUITE = "name: s\nseeds: 1\nbudget: %s\nenvironments: [{id: CartPole-v1}]\n"


def played(path, budget="{episodes: 1}", agents=("random",), settings=SERIAL):
    text = SUITE % budget
    run_suite(parse_suite(text, "s.yaml"), list(agents), out=path, settings=settings)
    return BenchFolder.open(path)


def verdicts(folder):
    return [(one.result.verified, one.problems) for one in verify_run(folder)]


def forged(folder, change):
    """Change the record and write its chain anew; the result names the new head."""
    (record,) = (folder.path / "records").iterdir()
    forgery = Forgery(record)
    change(forgery, record)
    forgery.write()
    (path,) = (folder.path / "results").iterdir()
    head = read_run(record).head
    path.write_text(json.dumps({**json.loads(path.read_text()), "head": head}))
    return record


@pytest.mark.parametrize("most", [100, 101, 110])
@pytest.mark.parametrize("seeds", [0, 1, 2])
def test_a_limit_that_cuts_the_last_episode_is_honest(tmp_path, most, seeds):
    text = SUITE % f"{{steps: 100, max_steps: {most}}}"
    text = text.replace("seeds: 1", f"seeds: [{seeds}]")
    run_suite(parse_suite(text, "s"), ["random"], out=tmp_path / "run", settings=SERIAL)
    assert verdicts(BenchFolder.open(tmp_path / "run")) == [("verified", ())]


def test_a_limit_does_not_excuse_what_was_played_whole(tmp_path):
    """Saying that a limit ended it, where it did not, is still found."""
    folder = played(tmp_path / "run", "{steps: 100, max_steps: 500}")

    def lie(forgery, _):
        forgery.of("result")[0]["stopped"] = "max_steps"

    forged(folder, lie)
    assert verdicts(folder)[0][0] == "failed"


def test_an_agent_that_kills_its_worker_has_failed(tmp_path):
    settings = RunSettings(engine="processes", workers=1, backoff=0.0, retries=0)
    folder = played(tmp_path / "run", agents=["tests.bench.players:is_killed"], settings=settings)
    (result,) = folder.results()
    assert result.outcome == "agent_fault"
    assert "SIGKILL" in result.reason
    assert verdicts(folder)[0][0] == "verified"


def test_what_is_written_can_be_read(tmp_path, monkeypatch):
    folder = played(tmp_path / "run")
    (unit,) = planned_units(folder)
    (known,) = folder.results()
    data = {"stopped": None, "steps": 1, "seconds": 1.0, "cost": 0.0, "score": 1 / 3}
    data["created"] = known.created
    returns = [-(1 / 3) * 1e-100] * 1_900_000
    curve = [[n, -(1 / 3) * 1e-100] for n in range(1_900_000)]
    made = claim.result_of(unit, folder.name, known.head, data, returns, curve)
    folder.write(made)
    (found,) = folder.results()
    assert (found, found.episodes) == (made, 1_900_000)
    assert found.extra["returns_left_out"] == 1_900_000 - claim.MOST_EPISODES
    assert found.extra["curve"][-1][0] == 1_900_000 - 1
    with open_store(tmp_path / "store.sqlite") as store:
        store.add([found])
    huge = replace(found, extra={"x": "x" * LARGEST_RESULT})
    with pytest.raises(OSError, match="are read"):
        folder.write(huge)
    assert folder.results() == [made]


def test_results_of_very_many_episodes_are_verified(tmp_path, monkeypatch):
    monkeypatch.setattr(claim, "MOST_EPISODES", 3)
    folder = played(tmp_path / "run", "{episodes: 10}", ["tests.bench.players:Pusher"])
    (result,) = folder.results()
    assert len(result.extra["returns"]) == 3
    assert len(result.extra["curve"]) == 2
    assert result.episodes == 10
    assert verdicts(folder) == [("verified", ())]


def holes(count=3, size=2**28):
    digest = hashlib.sha256()
    for _ in range(size >> 20):
        digest.update(bytes(2**20))

    def add(forgery, record):
        for n in range(count):
            if n == 0:
                with (record / "f0").open("wb") as file:
                    file.truncate(size)
            else:
                os.link(record / "f0", record / f"f{n}")
            about = {"path": f"f{n}", "sha256": digest.hexdigest(), "bytes": size}
            forgery.add("file", about)

    return add


def test_files_in_a_units_record_are_refused_unread(tmp_path, monkeypatch):
    from ludus.record.format.disk import Handle

    folder = played(tmp_path / "run")
    forged(folder, holes(size=2**20))
    monkeypatch.setattr(Handle, "sha256", lambda self: pytest.fail("was read"))
    ((verdict, problems),) = verdicts(folder)
    assert verdict == "failed"
    assert "files of its own" in problems[0]


def test_files_beyond_a_limit_are_not_read(tmp_path, monkeypatch):
    folder = played(tmp_path / "run")
    record = forged(folder, holes(size=2**20))
    assert verify(record)["files"].status == "passed"
    found = verify(record, max_file_bytes=2**21)
    assert (found["files"].status, found.verdict) == ("skipped", "unchecked")
    assert "3145728 bytes were not read" in fsck(record, max_file_bytes=2**21).unread


def test_more_rows_than_the_budget_allows_are_not_executed(tmp_path, monkeypatch):
    folder = played(tmp_path / "run")

    def grow(forgery, _):
        block = forgery.of("block")[0]
        block.update({k: np.array(v[:1]).repeat(500_000, 0) for k, v in block.items()})

    forged(folder, grow)
    monkeypatch.setattr(
        "ludus.bench.verifying.verification.verify", lambda *_, **__: pytest.fail("was run")
    )
    started = time.monotonic()
    ((verdict, problems),) = verdicts(folder)
    assert verdict == "failed"
    assert "more than 500 rows" in problems[0]
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("budget", "count", "rows"),
    [
        ("{episodes: 3}", None, 1500),
        ("{steps: 1000}", None, 1499),
        ("{episodes: 3, max_steps: 70}", None, 70),
        ("{episodes: 3}", 2, 2001),
    ],
)
def test_how_many_rows_a_budget_allows(tmp_path, budget, count, rows):
    folder = played(tmp_path / "run", budget)
    (unit,) = planned_units(folder)
    assert most_rows(replace(unit, agent=replace(unit.agent, num_envs=count))) == rows


@pytest.mark.parametrize("budget", ["{episodes: 7}", "{steps: 300}", "{steps: 300, max_steps: 90}"])
def test_no_honest_batch_has_too_many_rows(tmp_path, budget):
    agent = {"use": "random", "num_envs": 3}
    folder = played(tmp_path / "run", budget, [agent])
    assert verdicts(folder) == [("verified", ())]


@pytest.mark.parametrize("what", ["records", "unit"])
def test_records_behind_links_are_not_read(tmp_path, what):
    folder = played(tmp_path / "run")
    (record,) = (folder.path / "records").iterdir()
    place = record if what == "unit" else record.parent
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    ((verdict, problems),) = verdicts(folder)
    assert verdict == "failed"
    assert "symbolic links are not followed" in problems[0]


def test_a_run_folder_may_be_a_link(tmp_path):
    played(tmp_path / "run")
    (tmp_path / "link").symlink_to(tmp_path / "run")
    assert verdicts(BenchFolder.open(tmp_path / "link")) == [("verified", ())]


def test_a_record_is_not_written_behind_a_link(tmp_path):
    folder = played(tmp_path / "run")
    (record,) = (folder.path / "records").iterdir()
    (result,) = (folder.path / "results").iterdir()
    result.unlink()
    record.rename(tmp_path / "old")
    (tmp_path / "mine").mkdir()
    record.symlink_to(tmp_path / "mine")
    resume_run(folder.path, settings=SERIAL)
    assert list((tmp_path / "mine").iterdir()) == []
    assert verdicts(folder) == [("verified", ())]


def test_a_record_that_is_closed_for_a_moment_only(tmp_path, monkeypatch):
    module = sys.modules["ludus.record.verify"]
    folder = played(tmp_path / "run")
    (record,) = (folder.path / "records").iterdir()
    events = record / "events.jsonl"
    whole = events.read_bytes()
    cut = b"".join(whole.splitlines(keepends=True)[:-1])
    events.write_bytes(cut)
    (path,) = (folder.path / "results").iterdir()
    head = read_run(record).head
    path.write_text(json.dumps({**json.loads(path.read_text()), "head": head}))
    original = module.fsck

    def swapped(*arguments, **options):
        events.write_bytes(whole)
        try:
            return original(*arguments, **options)
        finally:
            events.write_bytes(cut)

    monkeypatch.setattr(module, "fsck", swapped)
    assert verdicts(folder)[0][0] == "failed"
    # Without a head that somebody names, what is read is what was found whole and closed.
    assert verify(record).verdict == "failed"


def test_infrastructure_faults_show_on_verified_boards(tmp_path):
    text = (SUITE % "{episodes: 1}").replace("seeds: 1", "seeds: 4")
    run_suite(parse_suite(text, "s"), ["random"], out=tmp_path / "run", settings=SERIAL)
    folder = BenchFolder.open(tmp_path / "run")
    for result in folder.results()[1:]:
        lost = {"outcome": "infrastructure_fault", "score": None, "best_score": None}
        folder.write(replace(result, **lost, reason="lightning", record=None, head=None))
    for path in (folder.path / "records").iterdir():
        if path.name != folder.results()[0].id:
            for file in path.iterdir():
                file.unlink()
            path.rmdir()
    with open_store(tmp_path / "store.sqlite") as store:
        store.add(folder.results())
        # What is left may have been chosen, so it is not verified either.
        assert [one.result.verified for one in verify_run(folder, store=store)] == ["claimed"]
        assert not store.leaderboard(verified_only=True)[0].rows
        (board,) = store.leaderboard()
    assert (board.rows[0].scored, board.rows[0].infrastructure_faults) == (1, 3)


def test_a_record_that_takes_too_long_stays_a_claim(tmp_path):
    folder = played(tmp_path / "run")
    (found,) = verify_run(folder, max_seconds=0.0)
    assert (found.result.verified, found.problems) == ("claimed", ())
    assert "--max-seconds" in found.unchecked[0]
    assert verdicts(folder) == [("verified", ())]


def test_more_rows_than_anybody_reads_stay_a_claim(tmp_path, monkeypatch):
    """The suite comes with the record, and can ask for any number."""
    folder = played(tmp_path / "run")
    monkeypatch.setattr("ludus.bench.verifying.recount._MOST_ROWS", 5)
    ((verified, problems),) = verdicts(folder)
    assert (verified, problems) == ("claimed", ())
