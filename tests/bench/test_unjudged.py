"""Bad results that are kept from being judged, so that only the good ones of a run are verified."""

from __future__ import annotations

import json

import pytest

from ludus.bench.planning.suite import parse_suite
from ludus.bench.running.folder import BenchFolder
from ludus.bench.running.runner import RunSettings, run_suite
from ludus.bench.verifying import verification
from ludus.bench.verifying.verification import verify_run
from ludus.record import read_run
from tests.record.tampering import Forgery

SUITE = "name: s\nseeds: 3\nbudget: {episodes: 2}\nenvironments: [{id: CartPole-v1}]\n"


@pytest.fixture
def folder(tmp_path):
    settings = RunSettings(engine="serial", backoff=0.0)
    run_suite(parse_suite(SUITE, "s.yaml"), ["random"], out=tmp_path / "run", settings=settings)
    return BenchFolder.open(tmp_path / "run")


def worst_of(folder):
    return min(folder.results(), key=lambda one: one.score)


def rewrite(folder, result, change):
    """Change the record of a result, and let the result name the new one."""
    forged = Forgery(folder.path / result.record)
    told = change(forged) or {}
    forged.write()
    path = folder.path / "results" / f"{result.id}.json"
    head = read_run(folder.path / result.record).head
    path.write_text(json.dumps({**json.loads(path.read_text()), **told, "head": head}))


def without_source(forged):
    forged.manifest["provenance"]["env"]["source"] = None


def fault_by_its_cost(forged):
    """Turn a bad score into a fault that a cost is said to have brought about."""
    ((index, claim),) = (
        (index, data) for index, (kind, data) in enumerate(forged.events) if kind == "result"
    )
    for name in ("metric", "value", "episodes", "score"):
        del claim[name]
    claim |= {"agent_fault": "gave up", "stopped": "max_cost"}
    forged.events[index] = ["note", claim]
    returns = {"extra": {"returns": [], "stopped": "max_cost"}}
    fault = {"outcome": "agent_fault", "score": None, "best_score": None, "reason": "gave up"}
    return fault | returns


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without_source, "the environment's source was None"),
        (fault_by_its_cost, "'max_cost' is said to have ended it, which is no limit"),
    ],
)
def test_a_record_that_keeps_its_result_a_claim(folder, change, words):
    bad = worst_of(folder)
    rewrite(folder, bad, change)
    found = {one.result.id: one for one in verify_run(folder)}
    assert words in " ".join(found[bad.id].problems)
    assert {one.id: one.verified for one in folder.results()}[bad.id] == "failed"


def test_a_result_that_is_removed_while_the_run_is_verified_is_missed(folder, monkeypatch):
    """All were there when completeness was looked at."""
    bad, check = worst_of(folder), verification.environment_problems

    def remove(*arguments):
        (folder.path / "results" / f"{bad.id}.json").unlink(missing_ok=True)
        return check(*arguments)

    monkeypatch.setattr(verification, "environment_problems", remove)
    list(verify_run(folder))
    there = folder.results()
    assert folder.standing().missing(there) == {(folder.name, bad.id)} - {
        (one.run, one.id) for one in there
    }
    assert bad.id not in {one.id for one in there}
